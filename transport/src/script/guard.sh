# Changes that could cut a host off: keeps what undoes one before it is made, and lets the host itself undo it unless
# somebody confirms that it can still be reached.
#
# Arguments:
#   arm     DIRECTORY SECONDS NAME NOTES WATCHER KEEP UNDO COUNT PATH… WORD…
#   confirm DIRECTORY SECONDS NAME NOTES
#   undo    DIRECTORY SECONDS NAME NOTES
# NAME is that of the change and of this attempt, with a tab between. NOTES is the file that says what was undone. It ends
# with 96 if this attempt was undone, and complains with what the notes say of it.
set -eu
umask 077
verb=$1
guard=$R$2
seconds=$3
name=$4
notes=$R$5
shift 5

give_up() {
  printf '%s\n' "$1" >&2
  exit 1
}

# Whether somebody watches.
is_watched() {
  watcher=$(cat "$guard/watcher" 2>/dev/null) || return
  kill -0 "$watcher" 2>/dev/null
}

# Waits for the end of whoever watches. The time is that of the machine, which connections take too.
await_end() {
  waited=0
  while is_watched; do
    if [ "$waited" -ge "$seconds" ]; then return 1; fi
    waited=$((waited + 1))
    /bin/sleep 1
  done
}

# What the notes say of this attempt.
noted() {
  grep -F -e "$name	" "$notes" 2>/dev/null
}

arm() {
  watch=$1
  keep=$2
  undo=$3
  count=$4
  shift 4
  # One of an earlier run is undone first. Where nobody watches any more, whoever is here could be reached.
  await_end || give_up "another change of this host still waits to be confirmed; see $guard"
  rm -rf -- "$guard"
  mkdir -- "$guard"
  number=0
  for path do
    number=$((number + 1))
    if [ "$number" -gt "$count" ]; then break; fi
    if [ -e "$R$path" ] || [ -L "$R$path" ]; then cp -RPp "$R$path" "$guard/$number"; fi
  done
  (
    shift "$count"
    # shellcheck disable=SC2034 # for what is evaluated
    K=$guard
    eval "$keep"
  ) || {
    rm -rf -- "$guard"
    give_up "what is there cannot be kept, so that nothing was changed"
  }
  mkdir -- "$guard/armed"
  set -- /bin/sh -c "$watch" fleet-guard "$R" "$guard" "$seconds" "$name" "$notes" "$undo" "$count" "$@"
  # It must outlive this session, and whoever ends all that runs in it.
  if command -v setsid >/dev/null 2>&1; then
    set -- setsid "$@"
  elif command -v perl >/dev/null 2>&1; then
    set -- perl -e 'use POSIX (); POSIX::setsid(); exec @ARGV or exit 127' "$@"
  fi
  (
    trap '' HUP
    exec "$@"
  ) </dev/null >/dev/null 2>&1 &
  waited=0
  until [ -s "$guard/watcher" ]; do
    if [ "$waited" -ge 10 ]; then
      rm -rf -- "$guard"
      give_up "nobody could be left on the host to undo the change, so that it was not made"
    fi
    waited=$((waited + 1))
    /bin/sleep 1
  done
}

# Which of the two comes first has the directory, and the other finds none.
confirm() {
  if mv -- "$guard/armed" "$guard/confirmed" 2>/dev/null; then
    rm -rf -- "$guard"
    if [ -f "$notes" ]; then
      # What was undone of the same change is of no interest any more.
      grep -v -F -e "${name%	*}	" "$notes" >"$notes.new" || :
      chmod 644 "$notes.new"
      if [ -s "$notes.new" ]; then mv -f -- "$notes.new" "$notes"; else rm -f -- "$notes.new" "$notes"; fi
    fi
    return
  fi
  undone
}

# Waits until it was undone, which begins at once.
undone() {
  if [ -d "$guard/armed" ]; then : >"$guard/now"; fi
  await_end || give_up "the change is not undone after $seconds seconds; what was there before lies in $guard"
  if said=$(noted); then
    printf '%s\n' "$said" >&2
    exit 96
  fi
  if [ -d "$guard" ]; then
    give_up "whoever was to undo the change is gone; what was there before lies in $guard"
  fi
}

case $verb in
  arm) arm "$@" ;;
  confirm) confirm ;;
  undo) undone ;;
esac
