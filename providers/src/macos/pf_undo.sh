# Brings back what was in force of an anchor that was there before, once its files are back.
#
# Arguments: the path of the anchor, the label of the daemon, how many seconds launchd gets to let go of it; then its tables.
set -eu
anchor=$1
label=$2
most=$3

# The daemon goes first: it may still keep in force what is undone.
launchctl bootout "system/$label" >/dev/null 2>&1 || :
waited=0
while launchctl print "system/$label" >/dev/null 2>&1; do
  # What lets somebody in again matters more than a daemon.
  if [ "$waited" -ge "$most" ]; then break; fi
  waited=$((waited + 1))
  sleep 1
done
pfctl -a "$anchor" -f "$K/rules" 2>"$K/said" || {
  # An anchor without rules cuts nobody off.
  pfctl -a "$anchor" -f - </dev/null >/dev/null 2>&1 || :
  cat "$K/said" >&2
  exit 1
}
if [ -e "$K/daemon" ]; then launchctl bootstrap system "$R/Library/LaunchDaemons/$label.plist" >&2; fi
