LC_ALL=C
export LC_ALL
umask 077

# The end of an answer: words about it, on both outputs.
x() {
  printf '\n%s %s\n' "$N" "$*"
  printf '\n%s\n' "$N" >&2
}

# Something that was sent beside the script, so that it stands in no script: the next line of the input.
sent() {
  IFS= read -r p
  printf %b "${p#=}"
}

if stat -c %f / >/dev/null 2>&1; then
  stats() { stat -c '%f %s %U %G' -- "$@"; }
else
  stats() { stat -f '%Xp %z %Su %Sg' -- "$@"; }
fi

if command -v sha256sum >/dev/null; then
  sums() { sha256sum -- "$@"; }
elif command -v shasum >/dev/null; then
  sums() { shasum -a 256 -- "$@"; }
else
  sums() { openssl dgst -sha256 -r -- "$@"; }
fi

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
# answer: its digest, and its content unless the digest is the expected one.
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
      if [ "$h" = "${e%% *}" ]; then
        x same
      else
        head -c "$MOST" <"$1"
        x $?
      fi
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

# Runs a program that has nothing to read.
run() {
  "$@" </dev/null
  x $?
}

# Runs a script of the user, which was sent beside this one.
user() {
  u=$(sent && printf .)
  (eval "${u%.}") </dev/null
  x $?
}
