PATH=$PATH:/usr/local/bin
said=$(tailscale debug prefs 2>/dev/null | sed -n 's/^[[:space:]]*"RouteAll": \([a-z]*\).*/\1/p')
printf 'routes %s\n' "$said"
exec tailscale status --json --peers=false
