# Changes that could cut a host off: keeps what undoes one before it is made, and lets the host itself undo it unless
# somebody confirms that it can still be reached.
#
# Arguments:
#   arm     DIRECTORY SECONDS NAME NOTES WATCHER KEEP COUNT PATH… WORD…
#   confirm DIRECTORY SECONDS NAME NOTES
#   undo    DIRECTORY SECONDS NAME NOTES
# NAME is that of the change and of this attempt, with a tab between. NOTES is the file that says what nobody confirmed. It
# ends with 96 if this attempt was undone, and complains with what the notes say of it.
set -eu
umask 077
verb=$1
guard=$R$2
seconds=$3
name=$4
notes=$R$5
shift 5
# A mark of this attempt alone: whoever watches over an earlier one finds none.
armed=$guard/armed-${name#*	}
# What a start of this Mac finds, if it was not even shut down.
daemon=$R/Library/LaunchDaemons/dev.fleet.guard.plist

give_up() {
  printf '%s\n' "$1" >&2
  exit 1
}

# Nothing is changed yet, and nothing stays behind.
refuse() {
  rm -rf -- "$guard" "$daemon"
  noted "$name"
  give_up "$1"
}

# Whether somebody watches. Numbers of processes count within their boot only.
is_watched() {
  watcher=$(cat -- "$guard/watcher" 2>/dev/null) || return
  [ "$(boot 2>/dev/null)" = "$(cat -- "$guard/boot" 2>/dev/null)" ] || return
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

# Writes the notes without what they say of something, and with a line that is new.
noted() {
  {
    grep -v -F -e "$1	" "$notes" 2>/dev/null || :
    if [ -n "${2-}" ]; then printf '%s\n' "$2"; fi
  } >"$notes.new"
  if [ -s "$notes.new" ]; then
    chmod 644 "$notes.new"
    mv -f -- "$notes.new" "$notes"
  else
    rm -f -- "$notes.new" "$notes"
  fi
}

# Leaves somebody on the host who undoes the change, whatever becomes of this session and of who ends all that runs in it.
leave() {
  rm -f -- "$guard/watcher"
  boot >"$guard/boot" 2>/dev/null || :
  set -- /bin/sh "$guard/watch" "$1"
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
  # One that does not wait may be done already.
  until [ -s "$guard/watcher" ] || [ ! -d "$guard" ]; do
    if [ "$waited" -ge 100 ]; then return 1; fi
    waited=$((waited + 1))
    /bin/sleep 0.1 2>/dev/null || /bin/sleep 1
  done
}

# What was armed is undone now, by whoever watches; where nobody does any more, by somebody else.
hurry() {
  : >"$guard/now"
  if ! is_watched; then leave now || :; fi
}

# Lets whoever starts this Mac undo it, where there is nobody else to do so by then.
outlive_power() {
  if [ ! -d "${daemon%/*}" ] || [ "$(id -u)" != 0 ]; then return 0; fi
  cat >"$daemon" <<END
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>dev.fleet.guard</string>
	<key>ProgramArguments</key>
	<array>
		<string>/bin/sh</string>
		<string>${guard#"$R"}/watch</string>
		<string>start</string>
	</array>
	<key>RunAtLoad</key>
	<true/>
</dict>
</plist>
END
  chown root:wheel "$daemon" && chmod 644 "$daemon"
}

arm() {
  watch=$1
  keep=$2
  count=$3
  shift 3
  # One that an earlier run left is undone first. Whoever sees to that may be gone before its end.
  for _ in 1 2; do
    for left in "$guard"/armed-*; do
      if [ -d "$left" ] && ! is_watched; then hurry; fi
    done
    await_end || give_up "another change of this host still waits to be confirmed; see $guard"
  done
  rm -rf -- "$guard"
  mkdir -- "$guard"
  number=0
  for path do
    number=$((number + 1))
    if [ "$number" -gt "$count" ]; then break; fi
    if [ -e "$R$path" ] || [ -L "$R$path" ]; then
      cp -RPp "$R$path" "$guard/$number" || refuse "$path cannot be kept, so that nothing was changed"
    fi
  done
  # No part of a condition: there, what fails within would not end it.
  set +e
  (
    set -e
    shift "$count"
    # shellcheck disable=SC2034 # for what is evaluated
    K=$guard
    eval "$keep"
  )
  status=$?
  set -e
  if [ "$status" != 0 ]; then refuse "what is there cannot be kept, so that nothing was changed"; fi
  here=$(printf %s "$R" | sed "s/'/'\\\\''/g")
  printf "R='%s'\n%s\n" "$here" "$watch" >"$guard/watch"
  outlive_power || refuse "$daemon cannot be written, so that nothing was changed"
  noted "$name" "$name		"
  mkdir -- "$armed"
  leave wait || {
    rm -rf -- "$armed"
    refuse "nobody could be left on the host to undo the change, so that it was not made"
  }
}

# Which of the two comes first has the mark, and the other finds none.
confirm() {
  if mv -- "$armed" "$guard/confirmed" 2>/dev/null || [ -d "$guard/confirmed" ]; then
    rm -f -- "$daemon"
    rm -rf -- "$guard"
    # What was undone of the same change before is of no interest any more.
    noted "${name%	*}"
    return
  fi
  undone
}

# What the notes say of this attempt, if it was undone.
fate() {
  grep -F -e "$name	" "$notes" 2>/dev/null | grep -v '		$'
}

# Waits until it was undone, which begins at once.
undone() {
  # Whoever sees to that may be gone before its end.
  for _ in 1 2; do
    if [ -d "$armed" ]; then
      hurry
    elif [ -d "$guard/undoing" ] && ! is_watched && ! fate >/dev/null; then
      leave now || :
    fi
    await_end || give_up "the change is not undone after $seconds seconds; what was there before lies in $guard"
  done
  if said=$(fate); then
    printf '%s\n' "$said" >&2
    exit 96
  fi
  # It was confirmed, and that was not heard of.
  if [ -d "$guard/confirmed" ]; then confirm; fi
  if [ -d "$guard" ]; then
    give_up "whoever was to undo the change is gone; what was there before lies in $guard"
  fi
}

case $verb in
  arm) arm "$@" ;;
  confirm) confirm ;;
  undo) undone ;;
esac
