# Brings an anchor of the packet filter into force and lets a daemon keep it there. What it is made of was written before.
#
# Arguments: the path of the anchor, the label of the daemon, `anew` if its property list or its script changed, and how
# many seconds launchd gets to let go of a daemon; then the tables that are in no ruleset but this one.
set -eu
anchor=$1
label=$2
anew=$3
most=$4
shift 4
file=$R/etc/pf.anchors/${anchor##*/}
plist=$R/Library/LaunchDaemons/$label.plist

give_up() {
  printf '%s\n' "$1" >&2
  exit 1
}

# Whether somebody said that launchd must not load the daemon.
is_disabled() {
  launchctl print-disabled system 2>/dev/null | grep -F "\"$label\" => " | grep -q -e disabled -e true
}

# Tables that somebody left keep ours from being defined: those that persist in the anchor, and any in the main ruleset.
for table do
  # cure kill-in-anchor
  if pfctl -v -a "$anchor" -s Tables 2>/dev/null |
    awk -v name="$table" '$2 == name && substr($1, 2, 1) == "p" { found = 1 } END { exit !found }'; then
    pfctl -a "$anchor" -t "$table" -T kill >/dev/null 2>&1 || give_up "the table $table of the anchor cannot be killed"
  fi
  # end kill-in-anchor
  # cure kill-in-main
  if pfctl -s Tables 2>/dev/null | grep -q -F -x -e "$table"; then
    pfctl -t "$table" -T kill >/dev/null 2>&1 || give_up "the table $table of the main ruleset cannot be killed"
  fi
  # end kill-in-main
done

# Whatever is in force is loaded anew.
# cure compare-in-force
rm -f "$file.loaded"
# end compare-in-force
FLEET_ROOT=$R /bin/sh "$file.sh" "$anchor" || exit

# cure enable
if is_disabled; then launchctl enable "system/$label" || give_up "launchd does not enable $label"; fi
# end enable
if [ "$anew" = anew ] || ! launchctl print "system/$label" >/dev/null 2>&1; then
  launchctl bootout "system/$label" >/dev/null 2>&1 || :
  waited=0
  while launchctl print "system/$label" >/dev/null 2>&1; do
    if [ "$waited" -ge "$most" ]; then give_up "launchd does not let go of $label after $most seconds"; fi
    waited=$((waited + 1))
    sleep 1
  done
  launchctl bootstrap system "$plist" || give_up "launchd does not load $plist"
fi
