# Waits until somebody listens at a port: the port, and for how many seconds it may take.
set -eu
n=0
until lsof -nP "-iTCP:$1" -sTCP:LISTEN >/dev/null 2>&1; do
  if [ "$n" -ge "$2" ]; then
    printf 'node_exporter runs, and nobody listens at port %s: is this host in its tailnet? What it says is in /var/log/fleet-node-exporter.log\n' "$1" >&2
    exit 1
  fi
  sleep 1
  n=$((n + 1))
done
