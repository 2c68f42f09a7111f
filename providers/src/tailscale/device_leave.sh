# Takes this host out of its tailnet.
set -eu
PATH=$PATH:/usr/local/bin

# A daemon that does not answer cannot log out: then the device stays in the tailnet, where an ephemeral one goes by itself.
if tailscale status --json >/dev/null 2>&1; then
  if ! said=$(tailscale logout 2>&1); then
    printf 'it cannot be logged out: %s\n' "$said" >&2
    exit 1
  fi
fi
