# Stops an agent and takes its service out: its directory, its user, and for how many seconds it may take.
dir=$R$1
user=$2
patience=$3

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

[ -e "$dir" ] || exit 0
uid=$(id -u "$user" 2>/dev/null) || fail "there is no user $user"

# A job that runs is not cut short.
n=0
while pgrep -f Runner.Worker >/dev/null; do
  if [ "$n" -ge "$patience" ]; then fail "a job runs on it, and is not cut short: try again when it has ended"; fi
  sleep 1
  n=$((n + 1))
done

list=$(cat -- "$dir/.service" 2>/dev/null)
if [ -n "$list" ]; then
  label=${list##*/}
  label=${label%.plist}
  target=gui/$uid/$label
  launchctl bootout "$target" 2>/dev/null
  n=0
  while launchctl print "$target" >/dev/null 2>&1; do
    if [ "$n" -ge "$patience" ]; then fail "launchd does not let go of $target"; fi
    sleep 1
    n=$((n + 1))
  done
  rm -f -- "$R$list"
  rm -rf -- "${R}/Users/$user/Library/Logs/$label"
fi
