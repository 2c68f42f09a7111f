LC_ALL=C
export LC_ALL
umask 077
PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin

# The end of an answer: words about it, on both outputs.
x() {
  printf '\n%s %s\n' "$N" "$*"
  printf '\n%s\n' "$N" >&2
}

# Something that was sent beside the script, so that it stands in no script: the next line of the input. `printf %b`
# makes of it what it was.
take() {
  IFS= read -r p
  p=${p#=}
  I=$((I + 1))
}

# Passes over what was sent for steps that were not reached.
skip() {
  while [ "$I" -lt "$1" ]; do take; done
}

# Who is logged in, and the number of this shell.
hello() {
  id
  x $$
}

if stat -c %f / >/dev/null 2>&1; then
  stats() { stat -c '%f %s %U %G' -- "$@"; }
else
  stats() { stat -f '%Xp %z %Su %Sg' -- "$@"; }
fi

if command -v sha256sum >/dev/null; then
  D=sha256sum
elif command -v shasum >/dev/null; then
  D='shasum -a 256'
else
  D='openssl dgst -sha256 -r'
fi

# shellcheck disable=SC2086 # several words
sums() { $D -- "$@"; }

# What is at each path: a sign for each (1 something, 0 nothing, d not to be seen), then a line for each that is there.
look() {
  m=
  for f do
    if [ -e "$f" ] || [ -L "$f" ]; then
      set -- "$@" "$f"
      m=${m}1
    else
      d=$f
      until [ -e "$d" ]; do
        d=${d%/*}
        d=${d:-/}
      done
      if [ -d "$d" ] && [ ! -x "$d" ]; then m=${m}d; else m=${m}0; fi
    fi
    shift
  done
  printf '%s\n' "$m"
  if [ $# -gt 0 ]; then stats "$@"; fi
  x $?
}

# Where the links among the paths lead: an answer for each link.
links() {
  for f do
    if [ -L "$f" ]; then
      readlink -- "$f"
      x $?
    fi
  done
}

# The files among pairs of an expected digest and a path: a sign for each (1 readable), then for each readable one an
# answer: its digest, and its content unless the digest is the expected one, or `=` says that nobody wants it.
files() {
  m=
  e=
  n=$#
  while [ "$n" -gt 0 ]; do
    if [ -f "$2" ] && [ ! -L "$2" ] && [ -r "$2" ]; then
      set -- "$@" "$2"
      e="$e$1 "
      m=${m}1
    else
      m=${m}0
    fi
    shift 2
    n=$((n - 2))
  done
  printf '%s\n' "$m"
  x 0
  if [ $# -gt 0 ]; then
    sums "$@" | while read -r h _; do
      h=${h#\\}
      printf '%s\n' "$h"
      case ${e%% *} in
        "$h" | =) x same ;;
        *)
          head -c "$MOST" <"$1"
          x $?
          ;;
      esac
      e=${e#* }
      shift
    done
  fi
}

# The names in a directory, each ended by NUL.
names() {
  if [ -d "$1" ]; then
    if [ -r "$1" ] && [ -x "$1" ]; then
      for f in "$1"/* "$1"/.*; do
        if [ -e "$f" ] || [ -L "$f" ]; then
          f=${f##*/}
          case $f in . | ..) ;; *) printf '%s\0' "$f" ;; esac
        fi
      done
      x 0
    else
      x denied
    fi
  else
    x none
  fi
}

# What stands in all files of a directory, in the order of their names; hidden ones are none of them.
inside() {
  if [ -d "$1" ]; then
    if [ -r "$1" ] && [ -x "$1" ]; then
      d=$1
      set --
      for f in "$d"/*; do
        if [ -f "$f" ] && [ ! -L "$f" ]; then set -- "$@" "$f"; fi
      done
      if [ $# -gt 0 ]; then cat -- "$@"; fi
      x $?
    else
      x denied
    fi
  else
    x none
  fi
}

# The digest of all that is below a directory: that of the sorted lines `MODE NAME` of everything but links, `DIGEST
# NAME` of files, and `link NAME -> TARGET`. A name starts with `./`, a mode is octal without leading zeros.
tree() {
  if [ -d "$1" ] && [ ! -L "$1" ]; then
    (
      cd -- "$1" || exit
      {
        if stat -c %a . >/dev/null 2>&1; then
          find . ! -name . ! -type l -exec stat -c '%a %n' {} +
        else
          find . ! -name . ! -type l -exec stat -f '%Mp%Lp %N' {} + | sed 's/^0*\([0-9]\)/\1/'
        fi
        # shellcheck disable=SC2086 # several words
        find . -type f -exec $D {} + | sed 's/^\\\{0,1\}\([0-9a-f]\{64\}\) [ *]/\1 /'
        # shellcheck disable=SC2016 # for the inner shell
        find . -type l -exec /bin/sh -c 'for l do printf "link %s -> " "$l"; readlink -- "$l"; done' sh {} +
      } | LC_ALL=C sort | $D
    )
    x $?
  else
    x none
  fi
}

# Runs a program that has nothing to read. Where it has the name of a function here, the program is meant.
run() {
  command "$@" </dev/null
  x $?
}

# Evaluates a script of the user, which was sent beside this one, as if nothing were defined here.
theirs() {
  take
  u=$(printf %b. "$p")
  (
    unset -f x take skip hello stats sums look links files names inside tree run theirs user
    unset -f step complain synced place new like keep down fill settle whose raise held listed claim release put \
      edit directory kept lead unpack remove clear call boot restart 2>/dev/null
    umask 022
    eval "${u%.}"
  ) </dev/null
}

# Asks a script of the user.
user() {
  theirs
  x $?
}
