# Lets this host be in its tailnet: how it is called there, its tags with commas between them or nothing, whether it takes
# the routes of others (`true`), and for how many seconds each step may take. The key is what is read, and no word of any
# program.
set -eu
name=$1
tags=$2
routes=$3
patience=$4
PATH=$PATH:/usr/local/bin
# This directory is empty after every start, should even the trap not be carried out.
staged=$R/var/run/fleet-tailscale-key

trap 'rm -f -- "$staged"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

key=$(cat)
rm -f -- "$staged"
(umask 077 && printf '%s\n' "$key" >"$staged")

# What tailscale says of this host alone.
status() { tailscale status --json --peers=false; }

# The first value of a name, and the members of a list in order with commas between them; out of what is read.
value() { sed -n "s/^[[:space:]]*\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -n 1; }
list() {
  awk -v "start=\"$1\": [" '
    is_in && /\]/ { exit }
    is_in { gsub(/[",[:space:]]/, ""); print }
    index($0, start) && !/\]/ { is_in = 1 }
  ' | LC_ALL=C sort | paste -s -d , -
}

# How the tailnet calls it: the first part of its whole name.
called() {
  whole=$(status | value DNSName)
  printf '%s' "${whole%%.*}"
}

# Whether it is in the tailnet with the tags that it should have.
fits() {
  [ "$(status | value BackendState)" = Running ] || return
  [ -z "$tags" ] || [ "$(status | list Tags)" = "$tags" ]
}

# A name, tags, and what else is told.
up() {
  up_name=$1
  up_tags=$2
  shift 2
  said=$(tailscale up --reset --ssh=false "--timeout=${patience}s" "--hostname=$up_name" "--advertise-tags=$up_tags" \
    "--accept-routes=$routes" "$@" 2>&1)
}

# Why it was not let in.
refused() {
  case $1 in
    *"$key"*) fail 'the tailnet does not let it in; what it said holds the key, and is not shown' ;;
    *'API key does not exist'* | *'unable to validate API key'* | *'not valid'*)
      # cure name-refused-key
      printf 'the tailnet refuses the key: it has expired, was revoked or is used up. Keys live for 90 days at most; ' >&2
      printf 'make a new one, or use the secret of an OAuth client, which does not expire. ' >&2
      # end name-refused-key
      fail "tailscale says: $1"
      ;;
    *'not permitted'*) fail "the key may not give these tags; give its client or key these tags in the tailnet. tailscale says: $1" ;;
    *) fail "it cannot join the tailnet. tailscale says: $1" ;;
  esac
}

n=0
until said=$(tailscale status --json 2>&1 >/dev/null); do
  if [ "$n" -ge "$patience" ]; then fail "tailscaled never accepted IPC within ${patience}s: $said"; fi
  sleep 1
  n=$((n + 1))
done

advertised=$(tailscale debug prefs | list AdvertiseTags)
known=$(status | value HaveNodeKey)
failure=
# cure known-needs-no-key
# Whom the tailnet knows comes back and is changed without a key: one that has expired since would put it out.
if [ "$known" = true ] && ! up "$name" "$advertised"; then failure=$said; fi
# end known-needs-no-key
if ! fits; then
  if ! up "$name" "$tags" "--auth-key=file:$staged"; then
    failure=$said
    # A key that is refused puts out whom the tailnet knows.
    # cure known-needs-no-key
    if [ "$known" = true ]; then up "$name" "$advertised" || :; fi
    # end known-needs-no-key
    refused "$failure"
  fi
elif [ -n "$failure" ]; then
  fail "it cannot be changed. tailscale says: $failure"
fi

n=0
while :; do
  case $(tailscale ip -4 2>/dev/null) in 100.*) break ;; esac
  if [ "$n" -ge "$patience" ]; then fail "it joined the tailnet and got no address within ${patience}s"; fi
  sleep 1
  n=$((n + 1))
done

# cure reclaim-name
if [ "$(called)" != "$name" ]; then
  # A device keeps the number at the end of its name, also when the other one is gone, until it says another name.
  advertised=$(tailscale debug prefs | list AdvertiseTags)
  up "$(printf '%.58s-anew' "$name")" "$advertised" || fail "it cannot take another name. tailscale says: $said"
  up "$name" "$advertised" || fail "it cannot take its name. tailscale says: $said"
fi
# end reclaim-name
is=$(called)
if [ "$is" != "$name" ]; then
  printf 'the tailnet calls it %s, because another device has the name %s: remove that one from the tailnet and apply again\n' "$is" "$name" >&2
  exit 1
fi
