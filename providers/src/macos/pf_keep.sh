# Keeps what is in force of an anchor of the packet filter: its rules and tables, and whether a daemon keeps them there.
#
# Arguments: the path of the anchor, the label of the daemon, how many seconds launchd gets to let go of it; then its tables.
set -eu
anchor=$1
label=$2
shift 3
for table do
  if inside=$(pfctl -a "$anchor" -t "$table" -T show 2>/dev/null); then
    persist=
    if pfctl -v -a "$anchor" -s Tables 2>/dev/null |
      awk -v name="$table" '$2 == name && substr($1, 2, 1) == "p" { found = 1 } END { exit !found }'; then
      persist=' persist'
    fi
    printf 'table <%s>%s { %s }\n' "$table" "$persist" "$(printf %s "$inside" | tr '\n' ' ')"
  fi
done >"$K/rules"
pfctl -a "$anchor" -s nat >>"$K/rules" 2>/dev/null || :
pfctl -a "$anchor" -s rules >>"$K/rules" 2>/dev/null || :
if launchctl print "system/$label" >/dev/null 2>&1; then : >"$K/daemon"; fi
