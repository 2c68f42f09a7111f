# Makes settings what they should be: what they are kept under, and for each where it is, its name, its type and its value.
set -eu
kept=$1
shift
was() {
  while [ $# -gt 0 ]; do
    printf '%s %s %s %s\n' "$1" "$2" "$3" "$(setting "$1" "$2")"
    shift 4
  done
}
was "$@" | before "$kept"
while [ $# -gt 0 ]; do
  make "$1" "$2" "$3" "$4"
  shift 4
done
