# Keeps what is in force of the packet filter, as far as a change of an anchor may touch it: the anchor, what calls it, tables
# of the names that it uses, the token by which the filter is on, and whether a daemon keeps all of that so.
#
# Arguments: the path of the anchor, the label of the daemon, how many seconds launchd gets to let go of it; then its tables.
set -eu
anchor=$1
label=$2
shift 3
token=$R/var/run/fleet.pf.${anchor##*/}.token

# One that is not there has nothing to keep.
inside() {
  pfctl -a "$anchor" "$@" 2>/dev/null || :
}

# In the order that pfctl wants.
{
  inside -v -s Tables | while read -r flags table rest; do
    case $flags in ?p*) persist=' persist' ;; *) persist= ;; esac
    printf 'table <%s>%s { %s }\n' "$table" "$persist" "$(inside -t "$table" -T show | tr '\n' ' ')"
  done
  inside -s rules | grep '^scrub' || :
  inside -s nat
  inside -s rules | grep -v '^scrub' || :
} >"$K/rules"

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
  if pfctl -s References 2>/dev/null | grep -q -w -e "$(cat "$token")"; then : >"$K/held"; fi
fi
if [ -e "$R/var/log/$label.log" ]; then : >"$K/log"; fi
if launchctl print "system/$label" >/dev/null 2>&1; then : >"$K/daemon"; fi
