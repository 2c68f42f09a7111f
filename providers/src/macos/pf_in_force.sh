# What is in force of an anchor of the packet filter, in words that pfctl takes, and what launchd has of its daemon.
#
# Arguments: the path of the anchor, the label of the daemon, how many seconds launchd gets to let go of it; then its tables.
anchor=$1
label=$2
# shellcheck disable=SC2034 # for what follows
most=$3
shift 3
# shellcheck disable=SC2034 # for what follows
token=$R/var/run/fleet.pf.${anchor##*/}.token

# One that is not there has nothing inside.
inside() {
  pfctl -a "$anchor" "$@" 2>/dev/null || :
}

# In the order that pfctl wants.
in_force() {
  inside -v -s Tables | while read -r flags table rest; do
    case $flags in ?p*) persist=' persist' ;; *) persist= ;; esac
    printf 'table <%s>%s { %s }\n' "$table" "$persist" "$(inside -t "$table" -T show | tr '\n' ' ')"
  done
  inside -s rules | grep '^scrub' || :
  inside -s nat
  inside -s rules | grep -v '^scrub' || :
}

# How the daemon was loaded; nothing if it was not.
registered() {
  launchctl print "system/$label" 2>/dev/null |
    sed -n -e '/^	path = /p' -e '/^	program = /p' -e '/^	arguments = {/,/^	}/p' -e '/^	run interval = /p' || :
}

# Whether somebody said that launchd must not load the daemon.
is_disabled() {
  launchctl print-disabled system 2>/dev/null | grep -F "\"$label\" => " | grep -q -e disabled -e true
}

# Whether somebody holds this token.
holds() {
  [ -n "$1" ] && pfctl -s References 2>/dev/null | grep -q -w -e "$1"
}
