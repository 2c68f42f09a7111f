# Removes a directory and those around it, as far as they were made for what lay there and nothing is in them any more.
set -eu
d=$1
while [ -n "$d" ]; do
  if grep -qxF -e "$d" "$B/directories" 2>/dev/null && { [ ! -e "$R$d/" ] || rmdir -- "$R$d" 2>/dev/null; }; then
    grep -vxF -e "$d" "$B/directories" >"$B/.directories.new" || :
    mv -f -- "$B/.directories.new" "$B/directories"
  fi
  d=${d%/*}
done
if [ ! -s "$B/directories" ]; then forgotten directories; fi
