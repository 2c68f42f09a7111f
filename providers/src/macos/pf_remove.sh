# Takes an anchor of the packet filter out of force with what kept it there, and nothing else. What was written for it is
# removed after that.
#
# Arguments: the path of the anchor, the label of its daemon, how many seconds launchd gets to let go of it; then its tables.
set -eu
anchor=$1
label=$2
most=$3
shift 3
file=$R/etc/pf.anchors/${anchor##*/}
token=$R/var/run/fleet.pf.${anchor##*/}.token

give_up() {
  printf '%s\n' "$1" >&2
  exit 1
}

# The daemon goes first: it would bring everything back.
launchctl bootout "system/$label" >/dev/null 2>&1 || :
waited=0
while launchctl print "system/$label" >/dev/null 2>&1; do
  if [ "$waited" -ge "$most" ]; then give_up "launchd does not let go of $label after $most seconds"; fi
  waited=$((waited + 1))
  sleep 1
done
rm -f "$R/var/log/$label.log"

# The call goes before what it calls. Apple's own calls stay.
case $anchor in
  com.apple/*) ;;
  *)
    main=$(pfctl -s rules 2>/dev/null) || give_up "the main ruleset cannot be read"
    if printf '%s\n' "$main" | grep -q -F -x -e "anchor \"$anchor\" all"; then
      dummynet=$(pfctl -s dummynet 2>/dev/null) || dummynet=
      {
        printf '%s\n' "$main" | grep '^scrub' || :
        printf '%s\n' "$dummynet"
        printf '%s\n' "$main" | grep -v '^scrub' | grep -v -F -x -e "anchor \"$anchor\" all" || :
      } | pfctl -R -f - 2>/dev/null || give_up "the call of $anchor cannot be taken out of the main ruleset"
    fi
    ;;
esac
pfctl -a "$anchor" -f - </dev/null >/dev/null 2>&1 || give_up "the anchor $anchor cannot be emptied"
for table do
  pfctl -a "$anchor" -t "$table" -T kill >/dev/null 2>&1 || :
  pfctl -t "$table" -T kill >/dev/null 2>&1 || :
done
rm -f "$file.new" "$file.loaded" "$file.loaded.new"

# Whoever else wants the filter to be on keeps it on.
if [ -f "$token" ]; then
  held=$(cat "$token")
  if pfctl -s References 2>/dev/null | grep -q -w -e "$held"; then
    pfctl -X "$held" >/dev/null 2>&1 || give_up "the token by which the packet filter is on cannot be given back"
  fi
  rm -f "$token"
fi
