# Removes what Tailscale left beside its programs, once its daemon is gone.
set -eu
rm -f -- "$R/var/run/tailscaled.socket"
rm -rf -- "$R/var/lib/tailscale"
# A Mac has no such directory at first; one that somebody else uses stays.
rmdir -- "$R/var/lib" 2>/dev/null || :
