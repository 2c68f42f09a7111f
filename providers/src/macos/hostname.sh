# All names of a Mac become one.
set -eu
for name in HostName LocalHostName ComputerName; do
  printf '%s\n' "$(scutil --get "$name" 2>/dev/null || :)"
done | before hostname
for name in HostName LocalHostName ComputerName; do
  scutil --set "$name" "$1"
done
