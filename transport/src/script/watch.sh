# Undoes a change of this host, unless somebody confirms in time that it can still be reached. It runs by itself, whatever
# becomes of the session that started it.
#
# Arguments: ROOT DIRECTORY SECONDS NAME NOTES UNDO COUNT PATH… WORD…
set -u
umask 077
# shellcheck disable=SC2034 # for what is evaluated
R=$1
guard=$2
seconds=$3
name=$4
notes=$5
undo=$6
count=$7
shift 7

# A host that is shut down meanwhile starts as it was.
trap ': >"$guard/now"' TERM
echo $$ >"$guard/watcher.new" && mv -- "$guard/watcher.new" "$guard/watcher" || exit

waited=0
while [ -d "$guard/armed" ] && [ ! -e "$guard/now" ] && [ "$waited" -lt "$seconds" ]; do
  waited=$((waited + 1))
  /bin/sleep 1
done
mv -- "$guard/armed" "$guard/undoing" 2>/dev/null || exit 0

put_back() {
  new=${2%/*}/.${2##*/}.fleet-new
  rm -rf -- "$new"
  mkdir -p -- "${2%/*}" && cp -RPp "$1" "$new" || return
  if [ -d "$2" ] && [ ! -L "$2" ]; then rm -rf -- "$2"; fi
  mv -f -- "$new" "$2"
}

wrong=
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
said=$(
  shift "$count"
  # shellcheck disable=SC2034 # for what is evaluated
  K=$guard
  umask 022
  eval "$undo" 2>&1
) || wrong="$wrong; ${said:-what is no file cannot be brought back}"
when=$(date -u +%Y-%m-%dT%H:%M:%SZ)
wrong=$(printf %s "${wrong#; }" | tr '\n\t' '  ')
umask 022
printf '%s\t%s\t%s\n' "$name" "$when" "$wrong" >>"$notes"
# What could not be put back is still needed.
if [ -z "$wrong" ]; then rm -rf -- "$guard"; else rm -f -- "$guard/watcher"; fi
