# Takes a service out of launchd: the target, and for how many seconds it may take.
target=$1
patience=$2

known() { launchctl print "$target" >/dev/null 2>&1; }

if known; then
  launchctl bootout "$target" 2>/dev/null
  n=0
  while known; do
    if [ "$n" -ge "$patience" ]; then
      printf 'launchd does not let go of %s\n' "$target" >&2
      exit 1
    fi
    sleep 1
    n=$((n + 1))
  done
fi
