# A preference goes: its domain and key.
set -eu
without "$1" "$2"
