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
if [ "$4" = true ]; then
  # Its service goes by a longer name since macOS 26.
  networksetup -setdhcp "$1 Configuration" 2>/dev/null >&2 || networksetup -setdhcp "$1"
fi
