# The names that a Mac had before. What was not set becomes so again.
set -eu
if [ -e "$B/hostname" ]; then
  for name in HostName LocalHostName ComputerName; do
    IFS= read -r value || :
    scutil --set "$name" "$value"
  done <"$B/hostname"
fi
forgotten hostname
