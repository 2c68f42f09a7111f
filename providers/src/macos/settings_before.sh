# Makes settings what they were before: what they are kept under.
set -eu
if [ -e "$B/$1" ]; then
  while read -r where name kind value; do
    if [ -z "$value" ]; then
      unmake "$where" "$name" </dev/null
    else
      make "$where" "$name" "$kind" "$value" </dev/null
    fi
  done <"$B/$1"
fi
forgotten "$1"
