# Installs, pins and taps what is wanted and is not there, and takes away what is not wanted any more and was not there
# before. Homebrew refuses root, so that all of it is done by its user.
# The user; the packages, taps and pins that are wanted, and those that are to go: names with spaces between them.
user=$1
packages=$2
taps=$3
pins=$4
old_packages=$5
old_taps=$6
old_pins=$7
prefix=$R/opt/homebrew
note=$prefix/.fleet-brew
PATH=$PATH:/opt/homebrew/bin

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

brewed() {
  sudo -n -H -u "$user" env "PATH=$PATH" NONINTERACTIVE=1 HOMEBREW_NO_AUTO_UPDATE=1 HOMEBREW_NO_ANALYTICS=1 brew "$@" 2>&1
}

# What was not there before fleet brought it is noted, so that nothing else is taken away.
ours() { grep -qxF -e "$1" "$note" 2>/dev/null; }
noted() { ours "$1" || printf '%s\n' "$1" >>"$note" || fail "$note cannot be written"; }
forgotten() {
  if ours "$1"; then
    grep -vxF -e "$1" "$note" >"$note.new"
    mv -f -- "$note.new" "$note"
  fi
}

keg() { [ -d "$prefix/Cellar/${1##*/}" ]; }
tapped() { [ -d "$prefix/Library/Taps/${1%%/*}/homebrew-${1#*/}" ]; }
pinned() { [ -L "$prefix/var/homebrew/pinned/${1##*/}" ] || [ -e "$prefix/var/homebrew/pinned/${1##*/}" ]; }

if [ ! -e "$prefix/bin/brew" ]; then
  # Who removes packages that went with it has nothing left to do.
  if [ -z "$packages$taps$pins" ]; then exit 0; fi
  fail "Homebrew is not there, and no archive of it is given: set source and source_sha256"
fi
if ours homebrew; then chown -R "$user:admin" "$prefix" || fail "Homebrew cannot be given to $user"; fi

for t in $taps; do
  tapped "$t" && continue
  noted "tap $t"
  q=$(brewed tap "$t") || fail "$t cannot be tapped: $q"
done
for p in $packages; do
  keg "$p" && continue
  noted "package ${p##*/}"
  # A package that names its tap brings it.
  case $p in
    */*/*) tapped "${p%/*}" || noted "tap ${p%/*}" ;;
  esac
  q=$(brewed install "$p") || fail "$p cannot be installed: $q"
  keg "$p" || fail "Homebrew says that it installed $p, and it is not there: $q"
done
for p in $pins; do
  pinned "$p" && continue
  noted "pin $p"
  q=$(brewed pin "$p") || fail "$p cannot be pinned: $q"
done

for p in $old_pins; do
  ours "pin $p" || continue
  if pinned "$p"; then q=$(brewed unpin "$p") || fail "$p cannot be unpinned: $q"; fi
  forgotten "pin $p"
done
for p in $old_packages; do
  ours "package ${p##*/}" || continue
  if keg "$p"; then q=$(brewed uninstall "${p##*/}") || fail "$p cannot be uninstalled: $q"; fi
  forgotten "package ${p##*/}"
  case $p in
    */*/*) old_taps="$old_taps ${p%/*}" ;;
  esac
done
for t in $old_taps; do
  ours "tap $t" || continue
  # What is wanted may come from it.
  case " $packages" in *" $t/"*) continue ;; esac
  if tapped "$t"; then q=$(brewed untap "$t") || fail "$t cannot be untapped: $q"; fi
  forgotten "tap $t"
done

# Homebrew itself goes with the last package, if fleet brought it.
if [ -z "$packages$taps$pins" ] && ours homebrew && [ -z "$(ls -A "$prefix/Cellar" 2>/dev/null)" ]; then
  rm -rf -- "$prefix"
elif [ -e "$note" ] && [ ! -s "$note" ]; then
  rm -f -- "$note"
fi
