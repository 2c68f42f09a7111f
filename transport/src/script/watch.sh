# Undoes a change of this host, unless somebody confirms in time that it can still be reached. It runs by itself, whatever
# becomes of the session that started it.
#
# Argument: `wait` for somebody to confirm, or not: `now`, or `start` of the host. Before it stand, as variables, R, guard,
# seconds, name, notes, undo, and as `of` a function that calls another with the number of paths, the paths and the words.
set -u
umask 077
guard=$R$guard
notes=$R$notes
daemon=$R/Library/LaunchDaemons/dev.fleet.guard.plist
armed=$guard/armed-${name#*	}
when=$1
cd / || :

# A host that is shut down meanwhile starts as it was.
trap 'when=now' TERM
if [ "$when" = start ]; then
  # Who watched over it before this start is gone.
  sysctl -n kern.bootsessionuuid >"$guard/boot" 2>/dev/null
fi
echo $$ >"$guard/watcher.new" && mv -- "$guard/watcher.new" "$guard/watcher" || exit

waited=0
while [ "$when" = wait ] && [ -d "$armed" ] && [ ! -e "$guard/now" ] && [ "$waited" -lt "$seconds" ]; do
  waited=$((waited + 1))
  /bin/sleep 1
done
mv -- "$armed" "$guard/undoing" 2>/dev/null || [ "$when" != wait ] && [ -d "$guard/undoing" ] || exit 0

# Puts something back as it was: the copy, and where it belongs.
put_back() {
  new=${2%/*}/.${2##*/}.fleet-new
  rm -rf -- "$new"
  mkdir -p -- "${2%/*}" && cp -RPp "$1" "$new" || return
  if [ -d "$2" ] && [ ! -L "$2" ]; then rm -rf -- "$2"; fi
  mv -f -- "$new" "$2"
}

wrong=
put_all_back() {
  count=$1
  shift
  number=0
  for path do
    number=$((number + 1))
    if [ "$number" -gt "$count" ]; then break; fi
    if [ -e "$guard/$number" ] || [ -L "$guard/$number" ]; then
      put_back "$guard/$number" "$R$path" || wrong="$wrong; $path cannot be put back"
    else
      rm -rf -- "$R$path" || wrong="$wrong; $path cannot be removed"
    fi
  done
}
of put_all_back

bring_back() {
  shift "$1"
  shift
  # shellcheck disable=SC2034 # for what is evaluated
  K=$guard
  umask 022
  eval "$undo"
}
# No part of a condition: there, what fails within would not end it.
said=$(of bring_back 2>&1)
status=$?
if [ "$status" != 0 ]; then wrong="$wrong; ${said:-what is no file cannot be brought back}"; fi

at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
wrong=$(printf %s "${wrong#; }" | tr '\n\t' '  ')
{
  grep -v -F -e "$name	" "$notes" 2>/dev/null
  printf '%s\t%s\t%s\n' "$name" "$at" "$wrong"
} >"$notes.new" && chmod 644 "$notes.new" && mv -f -- "$notes.new" "$notes" || wrong="it cannot be noted"
rm -f -- "$daemon"
# What could not be put back is still needed.
if [ -z "$wrong" ]; then rm -rf -- "$guard"; else rm -f -- "$guard/watcher"; fi
if [ "$when" = start ]; then launchctl bootout system/dev.fleet.guard; fi
