# Writes the anchor file of an SSH guard, with the addresses of those who are logged in at this moment. Refuses to if
# nobody could log in any more once they are gone.
#
# Arguments: the path of the anchor, the network of the tailnet as its first and its last address, and how many other
# networks may log in. It reads the file, in which @SESSION@ stands for those addresses.
set -eu
anchor=$1
first=$2
last=$3
others=$4
file=$R/etc/pf.anchors/${anchor##*/}

give_up() {
  printf '%s\n' "$1" >&2
  exit 1
}

# Who is logged in, as the kernel sees it: one of them is whoever runs this.
peers=$(netstat -an -p tcp 2>/dev/null |
  awk '$6 == "ESTABLISHED" && $4 ~ /[.]22$/ { sub(/[.][0-9]+$/, "", $5); print $5 }' | sort -u)
if [ -z "$peers" ]; then
  give_up "refused: no SSH session is seen on this host, so nobody can tell whether the guard would cut it off"
fi
case $peers in
  *%*) give_up "refused: a session comes from an address of one link alone ($peers), which the guard cannot let in" ;;
esac

# Whether this host is in the tailnet: otherwise nobody could come from there.
inside=$(ifconfig 2>/dev/null | awk -v first="$first" -v last="$last" '
  function number(address, parts) { split(address, parts, "."); return ((parts[1] * 256 + parts[2]) * 256 + parts[3]) * 256 + parts[4] }
  $1 == "inet" && number($2) >= number(first) && number($2) <= number(last) { print $2 }')
if [ -z "$inside" ] && [ "$others" = 0 ]; then
  give_up "refused: this host has no address in the tailnet, and no other network is allowed: nobody could log in once this session ends"
fi

text=$(cat)
# shellcheck disable=SC2086 # one address each
session=$(printf ' %s' $peers)
printf '%s\n' "$text" | sed "s|@SESSION@|${session# }|" >"$file.new"
if ! said=$(pfctl -a "$anchor" -n -f "$file.new" 2>&1); then
  rm -f "$file.new"
  give_up "the rules of the guard cannot be understood: $said"
fi
chmod 644 "$file.new"
mv -f "$file.new" "$file"
