PATH=$PATH:/usr/local/bin
exec tailscale ip -4
