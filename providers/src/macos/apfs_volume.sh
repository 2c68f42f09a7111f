# An APFS volume beside the one with the data of the Mac: its name, how many GiB it may grow to, owner, group and mode;
# and `new` unless it is there.
set -eu
volume=$R/Volumes/$1
if [ "$6" = new ]; then
  container=$(diskutil info -plist /System/Volumes/Data |
    sed -n '/<key>APFSContainerReference<\/key>/{n;s/.*<string>\(.*\)<\/string>.*/\1/p;}')
  if [ -z "$container" ]; then
    echo 'diskutil does not say in which container the data of this Mac is' >&2
    exit 1
  fi
  diskutil apfs addVolume "$container" APFS "$1" -quota "$2GiB" >/dev/null
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
