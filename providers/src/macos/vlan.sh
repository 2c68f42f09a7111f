# A VLAN: its name, the device it is on, its tag, `true` if it asks for an address; then the device and the tag of the one
# of that name that is there, if one is, and for how many seconds macOS is given after each change.
set -eu
if [ -n "$6" ] && [ "$5 $6" != "$2 $3" ]; then
  networksetup -deleteVLAN "$1" "$5" "$6"
  sleep "$7"
fi
if [ "$5 $6" != "$2 $3" ]; then
  networksetup -createVLAN "$1" "$2" "$3"
  sleep "$7"
fi
# Its service goes by a longer name since macOS 26.
if networksetup -getinfo "$1 Configuration" >/dev/null 2>&1; then service="$1 Configuration"; else service=$1; fi
if [ "$4" = true ]; then
  # cure ask-again
  networksetup -setdhcp "$service"
  # The network takes its time to answer.
  n=0
  until networksetup -getinfo "$service" | grep -q '^IP address: [0-9]'; do
    if [ "$n" -ge 30 ]; then
      printf 'the network gives %s no address within 30 seconds\n' "$1" >&2
      exit 1
    fi
    sleep 1
    n=$((n + 1))
  done
  # without ask-again
  #- if networksetup -getinfo "$service" | grep -q '^IPv4 Configuration: Off'; then networksetup -setdhcp "$service"; fi
  # end ask-again
else
  networksetup -setv4off "$service"
fi
