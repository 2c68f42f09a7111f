# Makes a directory and those around it, and notes which of them were not there: the directory.
set -eu
missing=
d=$1
until [ -e "$R$d/" ]; do
  missing="$d
$missing"
  d=${d%/*}
done
if [ -n "$missing" ]; then
  mkdir -p "$B"
  # What is noted and never made does no harm.
  printf '%s' "$missing" >>"$B/directories"
  mkdir -p -- "$R$1"
fi
