#!/bin/sh
# Starts node_exporter at the address that this host has in its tailnet, and nowhere else: the port, and its other arguments.
port=$1
shift
n=0
while [ "$n" -lt 5 ]; do
  address=$(tailscale ip -4 2>/dev/null | head -n 1)
  case $address in
    100.*) exec node_exporter "--web.listen-address=$address:$port" "$@" ;;
  esac
  sleep 2
  n=$((n + 1))
done
echo 'tailscale ip -4 returned empty; node_exporter cannot bind safely' >&2
exit 1
