# An APFS volume beside the one with the data of the Mac: its name, how many GiB it may grow to, owner, group and mode;
# and which device it is, if it is there.
set -eu
volume=$R/Volumes/$1
device=$6

# The device that is mounted at its place.
mounted() {
  diskutil info -plist "/Volumes/$1" 2>/dev/null | sed -n '/<key>DeviceIdentifier<\/key>/{n;s/.*<string>\(.*\)<\/string>.*/\1/p;}'
}

now=$(mounted "$1")
if [ -n "$now" ] && [ "$now" != "$device" ]; then
  printf 'another volume is mounted at /Volumes/%s: %s. Unmount it, or give it another name\n' "$1" "$now" >&2
  exit 1
fi
if [ -z "$device" ]; then
  container=$(diskutil info -plist /System/Volumes/Data |
    sed -n '/<key>APFSContainerReference<\/key>/{n;s/.*<string>\(.*\)<\/string>.*/\1/p;}')
  if [ -z "$container" ]; then
    echo 'diskutil does not say in which container the data of this Mac is' >&2
    exit 1
  fi
  diskutil apfs addVolume "$container" APFS "$1" -quota "$2GiB" >/dev/null
elif [ -z "$now" ]; then
  diskutil mount "$device" >/dev/null
fi
diskutil enableOwnership "/Volumes/$1" >/dev/null
# cure own-volume
chown "$3:$4" "$volume"
chmod "$5" "$volume"
# end own-volume
if ! sudo -n -u "$3" test -w "$volume"; then
  echo "$3 cannot write to /Volumes/$1" >&2
  exit 1
fi
