# Removes what Tailscale left, once its daemon is gone.
set -eu
place=$R/usr/local/bin
rm -f -- "$place/tailscaled" "$place/tailscale" "$place/.tailscale.fleet-installed" "$R/var/run/tailscaled.socket"
rm -rf -- "$R/var/lib/tailscale"
# A Mac has no such directory at first; one that somebody else uses stays.
rmdir -- "$R/var/lib" 2>/dev/null || :
