# Keeps what is in force of the packet filter, as far as a change of an anchor may touch it: the anchor, what calls it, tables
# of the names that it uses, the token by which the filter is on, and how a daemon keeps all of that so.
set -eu
in_force >"$K/rules"
pfctl -s rules >"$K/main" 2>/dev/null
pfctl -s nat >"$K/translations" 2>/dev/null
: >"$K/tables"
for table do
  if pfctl -s Tables 2>/dev/null | grep -q -F -x -e "$table"; then
    printf '%s %s\n' "$table" "$(pfctl -t "$table" -T show 2>/dev/null | tr '\n' ' ')" >>"$K/tables"
  fi
done
if [ -f "$token" ]; then
  cp "$token" "$K/token"
  if holds "$(cat "$token")"; then : >"$K/held"; fi
fi
record=$R/etc/pf.anchors/${anchor##*/}.loaded
if [ -f "$record" ]; then cp -p "$record" "$K/loaded"; fi
if [ -e "$R/var/log/$label.log" ]; then : >"$K/log"; fi
registered >"$K/daemon"
if is_disabled; then : >"$K/disabled"; fi
