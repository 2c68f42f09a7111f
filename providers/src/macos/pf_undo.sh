# Brings back what was in force of the packet filter before an anchor was changed, once its files are back. It goes on where
# something fails: what lets somebody in again matters more than the rest.
set -u
file=$R/etc/pf.anchors/${anchor##*/}
wrong=0

complain() {
  printf '%s\n' "$1"
  wrong=1
}

# A daemon that was loaded otherwise goes first: it may still keep in force what is undone.
is_same=yes
if ! registered | cmp -s - "$K/daemon"; then
  is_same=
  launchctl bootout "system/$label" >/dev/null 2>&1
  waited=0
  while launchctl print "system/$label" >/dev/null 2>&1; do
    if [ "$waited" -ge "$most" ]; then
      complain "launchd does not let go of $label after $most seconds"
      break
    fi
    waited=$((waited + 1))
    sleep 1
  done
elif [ -s "$K/daemon" ]; then
  # It may be at it since before its files came back, at a start of the Mac above all: what it notes then was never so.
  waited=0
  while [ "$waited" -lt "$most" ] && launchctl print "system/$label" 2>/dev/null | grep -q '^	pid = '; do
    waited=$((waited + 1))
    sleep 1
  done
fi

# Tables that persist are in the way of others of their names.
make_room() {
  pfctl -a "$anchor" -f - </dev/null >/dev/null 2>&1
  {
    inside -s Tables
    printf '%s\n' "$@"
  } | while read -r table; do
    pfctl -a "$anchor" -t "$table" -T kill >/dev/null 2>&1
    pfctl -t "$table" -T kill >/dev/null 2>&1
  done
}
# The daemon may be at it just now, which is why it is looked at once more.
for _ in 1 2; do
  if in_force | cmp -s - "$K/rules"; then break; fi
  pfctl -a "$anchor" -f "$K/rules" >/dev/null 2>&1 || {
    make_room "$@"
    # An anchor without rules cuts nobody off.
    said=$(pfctl -a "$anchor" -f "$K/rules" 2>&1) || complain "the rules of the anchor $anchor cannot be loaded: $said"
  }
done
while read -r table inside; do
  # shellcheck disable=SC2086 # one address each
  pfctl -t "$table" -T replace $inside >/dev/null 2>&1 || complain "the table $table of the main ruleset cannot be filled"
done <"$K/tables"

if ! pfctl -s rules 2>/dev/null | cmp -s - "$K/main"; then
  said=$({
    grep '^scrub' "$K/main"
    pfctl -s dummynet 2>/dev/null
    grep -v '^scrub' "$K/main"
  } | pfctl -R -f - 2>&1) || complain "the main ruleset cannot be loaded: $said"
fi
if ! pfctl -s nat 2>/dev/null | cmp -s - "$K/translations"; then
  said=$(pfctl -N -f "$K/translations" 2>&1) || complain "the translations of the main ruleset cannot be loaded: $said"
fi

# Whoever else wants the filter to be on keeps it on.
before=$(cat "$K/token" 2>/dev/null)
now=$(cat "$token" 2>/dev/null)
if [ -e "$K/held" ] && ! holds "$before"; then
  before=$(pfctl -E 2>&1 | sed -n 's/^Token : \([0-9][0-9]*\)$/\1/p')
  if [ -z "$before" ]; then complain "the packet filter cannot be turned on again"; fi
fi
if [ "$now" != "$before" ] && holds "$now"; then
  pfctl -X "$now" >/dev/null 2>&1 || complain "the token by which the packet filter is on cannot be given back"
fi
if [ -n "$before" ]; then printf '%s\n' "$before" >"$token"; else rm -f "$token"; fi

rm -f "$file.new" "$file.loaded.new"
if [ -f "$K/loaded" ]; then cp -p "$K/loaded" "$file.loaded" || complain "$file.loaded cannot be put back"; fi
if [ ! -e "$K/log" ]; then rm -f "$R/var/log/$label.log"; fi
if [ -z "$is_same" ] && [ -s "$K/daemon" ]; then
  said=$(launchctl bootstrap system "$R/Library/LaunchDaemons/$label.plist" 2>&1) || complain "launchd does not load $label: $said"
fi
# What is loaded already may be one that the next start is not to load.
if [ -e "$K/disabled" ] && ! is_disabled; then
  launchctl disable "system/$label" || complain "launchd does not disable $label"
fi
exit "$wrong"
