LC_ALL=C
export LC_ALL
Z='
'
umask 077
PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin:/usr/libexec/ApplicationFirewall

# The end of an answer: words about it, on both outputs.
x() {
  printf '\n%s %s\n' "$N" "$*"
  printf '\n%s\n' "$N" >&2
}

# Who is logged in, the number of this shell, and what stands before every path.
hello() {
  id
  x $$ "$R"
}

# Mode in hexadecimal digits, size, owner and group of each path. Which form of `stat` there is, the first call finds out.
V=
stats() {
  if [ "$V" = bsd ]; then
    stat -f '%Xp %z %Su %Sg' -- "$@"
  elif [ "$V" = gnu ]; then
    stat -c '%f %s %U %G' -- "$@"
  elif stat -c '%f %s %U %G' -- "$@" 2>/dev/null; then
    V=gnu
  elif stat -c %f / >/dev/null 2>&1; then
    return 1
  else
    V=bsd
    stats "$@"
  fi
}

if command -v sha256sum >/dev/null; then
  D=sha256sum
elif command -v shasum >/dev/null; then
  D='shasum -a 256'
else
  D='openssl dgst -sha256 -r'
fi

# shellcheck disable=SC2086 # several words
sums() { $D -- "$@"; }

# What is at paths, given as pairs of what is wanted of the content and a path: `.` nothing, `=` the digest, `-` all, or
# all unless this is the digest. The answers:
# 1. a sign for each (1 something, 0 nothing, d not to be seen), a sign for each whose content is wanted (1 it can be
#    read, 0 it cannot, - it is no file), and a line for each thing that is there
# 2. for each link: where it leads
# 3. if there are files to be read: their digests, a line each
# 4. for each of them whose content is wanted: the content
# Lists are kept as numbers of arguments, because rotating arguments takes time that grows with their square.
seen() {
  m=
  q=
  a=
  u=
  e=
  r=
  c=
  w=
  n=0
  for f do
    n=$((n + 1))
    if [ $((n % 2)) = 1 ]; then
      w=$f
      continue
    fi
    s=-
    if [ -L "$f" ]; then
      m=${m}1
      a="$a \"\${$n}\""
      u="$u $n"
    elif [ -e "$f" ]; then
      m=${m}1
      a="$a \"\${$n}\""
      if [ "$w" != . ] && [ -f "$f" ]; then
        s=0
        if [ -r "$f" ]; then
          s=1
          r="$r \"\${$n}\""
          e="$e$w "
          c="$c$n "
        fi
      fi
    else
      d=$f
      until [ -e "$d" ]; do
        d=${d%/*}
        d=${d:-/}
      done
      if [ -d "$d" ] && [ ! -x "$d" ]; then m=${m}d; else m=${m}0; fi
    fi
    if [ "$w" != . ]; then q=$q$s; fi
  done
  printf '%s\n%s\n' "$m" "$q"
  # Where something is gone meanwhile, nobody knows which line is whose.
  if [ -n "$a" ] && ! eval "stats $a"; then
    x changed
    return
  fi
  x 0
  for n in $u; do
    eval "readlink -- \"\${$n}\""
    x $?
  done
  if [ -n "$r" ]; then
    eval "sums $r" | {
      m=
      u=
      while read -r h _; do
        h=${h#\\}
        # A name of several lines is not always told in one.
        case $h in *[!0-9a-f]*) continue ;; esac
        if [ ${#h} -eq 64 ] && [ -n "$e" ]; then
          m="$m$h$Z"
          case ${e%% *} in
            "$h" | =) ;;
            *) u="$u ${c%% *}" ;;
          esac
          e=${e#* }
          c=${c#* }
        fi
      done
      # Without all digests nobody knows which is whose.
      if [ -n "$e" ]; then
        x changed
      else
        printf %s "$m"
        x 0
        for n in $u; do
          eval "head -c $MOST <\"\${$n}\""
          x $?
        done
      fi
    }
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

# The processes whose numbers and command lines match. Under a root, only a `ps` that lies there tells of it: that of the
# machine around it tells of others.
processes() {
  if [ -n "$R" ]; then
    case $(command -v ps) in
      "$R"/*) ;;
      *)
        x 0
        return
        ;;
    esac
  fi
  # shellcheck disable=SC2217 # whatever is called `ps` here
  q=$(command ps -A -ww -o pid= -o args= </dev/null)
  s=$?
  if [ "$s" = 0 ]; then printf '%s\n' "$q" | grep -E -e "$1"; fi
  x "$s"
}

# Evaluates a script of the user, which was sent beside this one, as if nothing were defined here.
theirs() {
  case $1 in
    *\\*) u=$(printf %b. "${1#=}") ;;
    *) u=${1#=}. ;;
  esac
  (
    unset -f x hello stats sums seen names inside tree run processes theirs user
    unset -f step complain synced place new like keep down fill settle gather ahead there modes land made \
      whose anew raise holds held refused listed claim release mark take_over put edit directory kept lead unpack unmade remove clear call procedure boot restart 2>/dev/null
    umask 022
    set --
    eval "${u%.}"
  ) </dev/null
}

# Asks a script of the user.
user() {
  theirs "$1"
  x $?
}
