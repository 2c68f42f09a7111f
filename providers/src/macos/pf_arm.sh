#!/bin/sh
# Brings the rules of an anchor of the packet filter into force and keeps them there: called once when they change, at
# every start of the Mac, and again and again in between. It changes nothing that is as it should be.
#
# Arguments: the path of the anchor, such as ci.runners or com.apple/ci.guard.
set -eu
R=${FLEET_ROOT-}
anchor=$1
file=$R/etc/pf.anchors/${anchor##*/}
token=$R/var/run/fleet.pf.${anchor##*/}.token

give_up() {
  printf '%s\n' "$1" >&2
  exit 1
}

# What pfctl complains about, without what it says each time.
complaint() {
  printf '%s\n' "$1" | grep -v -e '^No ALTQ support' -e '^ALTQ related' -e '^pfctl: Use of -f option' \
    -e '^present in the main ruleset' -e '^See /etc/pf.conf' -e '^$' || :
}

# The tables that the file defines.
tables() {
  sed -n 's/^table <\([^>]*\)>.*/\1/p' "$file"
}

# What the kernel has in force of it: the rules, and what is in the tables.
in_force() {
  pfctl -a "$anchor" -s rules 2>/dev/null
  pfctl -a "$anchor" -s nat 2>/dev/null
  echo '# tables'
  for table in $(tables); do
    echo "# $table"
    pfctl -a "$anchor" -t "$table" -T show 2>/dev/null || :
  done
}

# What was loaded, and what the kernel made of it right then.
record() {
  cat "$file"
  echo '# in force'
  in_force
}

# The filter is on as long as somebody holds a token. Ours is taken once for each start of the Mac.
held=
if [ -f "$token" ]; then held=$(cat "$token"); fi
if [ -z "$held" ] || ! pfctl -s References 2>/dev/null | grep -q -w -e "$held"; then
  said=$(pfctl -E 2>&1) || give_up "the packet filter cannot be turned on: $(complaint "$said")"
  held=$(printf '%s\n' "$said" | sed -n 's/^Token : \([0-9][0-9]*\)$/\1/p')
  if [ -z "$held" ]; then give_up "pfctl -E gave no token: $(complaint "$said")"; fi
  printf '%s\n' "$held" >"$token"
fi

# Only what differs is loaded, and only this anchor: the main ruleset belongs to macOS.
# cure compare-in-force
if [ ! -f "$file.loaded" ] || ! record | cmp -s - "$file.loaded"; then
  # without compare-in-force
  #- if [ ! -f "$file.loaded" ] || ! sed '/^# in force$/,$d' "$file.loaded" | cmp -s - "$file"; then
  # end compare-in-force
  if ! said=$(pfctl -a "$anchor" -f "$file" 2>&1); then
    case $said in
      *'Resource busy'*) ;;
      *) give_up "the rules of the anchor $anchor cannot be loaded: $(complaint "$said")" ;;
    esac
    # Tables of these names persist, here or in the main ruleset. No flush removes them.
    for table in $(tables); do
      # cure kill-in-anchor
      pfctl -a "$anchor" -t "$table" -T kill >/dev/null 2>&1 || :
      # end kill-in-anchor
      # cure kill-in-main
      pfctl -t "$table" -T kill >/dev/null 2>&1 || :
      # end kill-in-main
    done
    pfctl -a "$anchor" -f - </dev/null >/dev/null 2>&1 || :
    said=$(pfctl -a "$anchor" -f "$file" 2>&1) ||
      give_up "the rules of the anchor $anchor cannot be loaded: $(complaint "$said")"
  fi
  record >"$file.loaded.new"
  mv -f "$file.loaded.new" "$file.loaded"
fi

# Rules count only where the main ruleset calls their anchor. It is called beside all that is there.
case $anchor in
  com.apple/*) called='com.apple/*' ;;
  *) called=$anchor ;;
esac
main=$(pfctl -s rules 2>/dev/null) || give_up "the main ruleset cannot be read"
calls() {
  printf '%s\n' "$main" | grep -q -F -x -e "$1"
}
scrub=
filter=
if grep -q '^scrub ' "$file" && ! calls "scrub-anchor \"$called\" all fragment reassemble"; then
  scrub="scrub-anchor \"$called\""
fi
if grep -q -e '^pass ' -e '^block ' "$file" && ! calls "anchor \"$called\" all"; then
  filter="anchor \"$called\""
fi
# cure call-anchor
if [ -n "$scrub$filter" ]; then
  dummynet=$(pfctl -s dummynet 2>/dev/null) || dummynet=
  said=$({
    printf '%s\n' "$main" | grep '^scrub' || :
    printf '%s\n' "$scrub" "$dummynet"
    printf '%s\n' "$main" | grep -v '^scrub' || :
    printf '%s\n' "$filter"
  } | pfctl -R -f - 2>&1) || give_up "the main ruleset cannot be made to call $called: $(complaint "$said")"
  now=$(pfctl -s rules 2>/dev/null) || give_up "the main ruleset cannot be read back"
  printf '%s\n' "$main" | while IFS= read -r rule; do
    if [ -n "$rule" ] && ! printf '%s\n' "$now" | grep -q -F -x -e "$rule"; then
      give_up "the main ruleset lost a rule when it was made to call $called: $rule"
    fi
  done
fi
# end call-anchor
if grep -q '^nat ' "$file"; then
  main=$(pfctl -s nat 2>/dev/null) || give_up "the translations of the main ruleset cannot be read"
  if ! calls "nat-anchor \"$called\" all"; then
    said=$({
      printf '%s\n' "$main"
      printf 'nat-anchor "%s"\n' "$called"
    } | pfctl -N -f - 2>&1) || give_up "the main ruleset cannot be made to call $called: $(complaint "$said")"
  fi
fi
