# Keeps what is in force of an anchor of the packet filter: its rules and tables, and whether a daemon keeps them there.
#
# Arguments: the path of the anchor, the label of the daemon, how many seconds launchd gets to let go of it; then its tables.
set -eu
anchor=$1
label=$2
shift 3
for table do
  if inside=$(pfctl -a "$anchor" -t "$table" -T show 2>/dev/null); then
    printf 'table <%s> persist { %s }\n' "$table" "$(printf %s "$inside" | tr '\n' ' ')"
  fi
done >"$K/rules"
pfctl -a "$anchor" -s nat >>"$K/rules" 2>/dev/null || :
pfctl -a "$anchor" -s rules >>"$K/rules" 2>/dev/null || :
if launchctl print "system/$label" >/dev/null 2>&1; then : >"$K/daemon"; fi
