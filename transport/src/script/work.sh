# One step: its status and its complaints are an answer of their own.
step() {
  "$@"
  s=$?
  x "$s"
  return "$s"
}

# Says what is wrong.
complain() {
  printf '%s\n' "$1" >&2
  return 1
}

# Brings files to the disk. Not every `sync` takes some.
synced() {
  if sync -- "$@" 2>/dev/null; then
    synced() { sync -- "$@"; }
  else
    synced() { sync; }
    sync
  fi
}

# Gives a file its name. A directory is no place for it, but a link to one is.
place() {
  if [ ! -d "$2" ]; then
    mv -f -- "$1" "$2"
  elif [ ! -L "$2" ]; then
    complain "$2: Is a directory"
  else
    mv -fT -- "$1" "$2" 2>/dev/null || mv -fh -- "$1" "$2" 2>/dev/null || {
      rm -f -- "$2" && mv -f -- "$1" "$2"
    }
  fi
}

# Where something is made before it gets its name.
new_name() {
  t=${1%/*}/.${1##*/}.fleet-new
}

# The same; what a crash left there goes.
new() {
  new_name "$1"
  if [ -e "$t" ] || [ -L "$t" ]; then rm -rf -- "$t"; fi
}

# How a file is to be kept: as it is said, else as it is.
like() {
  M=$2
  O=$3
  G=$4
  if [ -f "$1" ] && [ ! -L "$1" ] && { [ -z "$2" ] || [ -z "$3" ] || [ -z "$4" ]; }; then
    q=$(stats "$1") || return
    M=${M:-$(printf %o $((0x${q%% *} & 4095)))}
    q=${q#* }
    q=${q#* }
    O=${O:-${q%% *}}
    G=${G:-${q#* }}
  fi
}

# Sets mode, owner and group, as far as they are said. A change of the owner takes bits from the mode.
keep() {
  if [ -n "$3$4" ]; then chown -h -- "$3${4:+:$4}" "$1" || return; fi
  if [ -n "$2" ]; then chmod -- "$2" "$1"; fi
}

# Writes what was sent beside the script to a file. `printf %b` makes of it what it was. Some shells do not notice that
# they could not, and some do not say why; `cat` does.
if (printf x >&-) 2>/dev/null; then
  down() { printf %b "${2#=}" | cat >"$1"; }
else
  down() { printf %b "${2#=}" 2>/dev/null >"$1" || printf %b "${2#=}" | cat >"$1"; }
fi

# Fills a file with what was sent, or with an upload, which must have the digest.
fill() {
  if [ -z "$2" ]; then
    down "$1" "$3"
  else
    cat -- "$2" >"$1" || return
    h=$(sums "$1") || return
    h=${h#\\}
    [ "${h%% *}" = "$3" ] || return 94
  fi
}

# Puts the new file in its place, unless the user's check fails.
settle() {
  if [ -n "$2" ]; then theirs "$2" >&2 || return 93; fi
  place "$t" "$1"
}

# Writes a new file ahead of its step, so that one `sync` does for many: its number, the path, the mask that makes its
# mode, and what was sent. What fails here is left to the step.
ahead() {
  if [ -e "$2" ] || [ -L "$2" ]; then return; fi
  new "$2"
  umask "${3:-077}"
  if down "$t" "$4" 2>/dev/null; then A="$A $1"; fi
  umask 077
}

# Brings those to the disk that were written ahead, of all paths.
ready() {
  a=
  for n in $A; do
    eval "new_name \"\${$n}\""
    eval "t$n=\$t"
    a="$a \"\$t$n\""
  done
  if [ -n "$a" ] && ! eval "synced $a" 2>/dev/null; then A=; fi
}

# Writes a file beside its place and brings it to the disk: path, mode, owner, group, the mask that makes the mode, and
# what it is filled with.
made() {
  new "$1" && like "$1" "$2" "$3" "$4" || return
  # A file that nobody else gets is made with its mode at once; any other is hidden until it is theirs.
  if [ -z "$O$G" ]; then
    if [ -z "$M" ]; then
      umask 022
    elif [ -n "$5" ]; then
      umask "$5"
      M=
    fi
  fi
  fill "$t" "$6" "$7"
  s=$?
  umask 077
  if [ "$s" != 0 ]; then return "$s"; fi
  synced "$t" || return
  # What nobody asked for is kept as far as it can be.
  if [ -n "$O$G" ] && [ -z "$3$4" ]; then
    chown -- "$O:$G" "$t" 2>/dev/null || chown -- ":$G" "$t" 2>/dev/null
    O=
    G=
  fi
}

# Writes a file: path, mode, owner, group, the mask that makes the mode, what it is filled with, the user's check, and its
# number if it may have been written ahead.
put() {
  case " $A " in
    *" ${9:--} "*)
      new_name "$1"
      M=$2
      O=
      G=
      if [ -n "$5" ]; then M=; fi
      ;;
    *) made "$1" "$2" "$3" "$4" "$5" "$6" "$7" ;;
  esac && keep "$t" "$M" "$O" "$G" && settle "$1" "$8" && return 0
  s=$?
  rm -f -- "$t"
  return "$s"
}

# Puts an edited file back if it still has the digest that was read; none if it was not there.
edit() {
  h=
  if [ -e "$1" ] || [ -L "$1" ]; then
    if [ -f "$1" ] && [ ! -L "$1" ]; then h=$(sums "$1") || return; else return 92; fi
    h=${h#\\}
    h=${h%% *}
  fi
  [ "$h" = "$2" ] || return 92
  new "$1" && {
    if [ -z "$h" ]; then
      fill "$t" "$3" "$4" && chmod 644 "$t"
    else
      cp -p -- "$1" "$t" && if [ -w "$t" ]; then
        fill "$t" "$3" "$4"
      else
        like "$1" '' '' '' && chmod u+w "$t" && fill "$t" "$3" "$4" && chmod "$M" "$t"
      fi
    fi
  } && synced "$t" && place "$t" "$1" && return 0
  s=$?
  rm -f -- "$t"
  return "$s"
}

# Makes a directory, and those around it.
directory() {
  if [ -L "$1" ]; then
    complain "$1: Is a link"
    return
  fi
  if [ ! -d "$1" ]; then
    umask 022
    mkdir -p -- "$1"
    s=$?
    umask 077
    [ "$s" = 0 ] || return "$s"
  fi
  keep "$@"
}

# Changes how something is kept that is there.
kept() {
  if [ -L "$1" ] && [ -n "$2" ]; then
    complain "$1: Is a link, which has no mode of its own"
    return
  fi
  keep "$@"
}

# Makes a link: where, and where it leads.
lead() {
  if [ -d "$1" ] && [ ! -L "$1" ]; then
    complain "$1: Is a directory"
    return
  fi
  new "$1" && ln -s -- "$2" "$t" && place "$t" "$1" && return 0
  s=$?
  rm -f -- "$t"
  return "$s"
}

# Puts a directory in place: path, leading parts to leave out, `gzip` or nothing, an upload with its digest.
unpack() {
  if [ -L "$1" ] || { [ -e "$1" ] && [ ! -d "$1" ]; }; then
    complain "$1: Is not a directory"
    return
  fi
  h=$(sums "$4") || return
  h=${h#\\}
  [ "${h%% *}" = "$5" ] || return 94
  new "$1" && mkdir -- "$t" && chmod 755 "$t" && if [ "$3" = gzip ]; then
    gzip -dc <"$4" | tar -xpof - --strip-components="$2" -C "$t"
  else
    tar -xpof "$4" --strip-components="$2" -C "$t"
  fi && {
    o=${1%/*}/.${1##*/}.fleet-old
    if [ -e "$o" ]; then rm -rf -- "$o"; fi
    if [ -d "$1" ]; then mv -f -- "$1" "$o"; fi
  } && mv -f -- "$t" "$1" && rm -rf -- "$o" && return 0
  s=$?
  rm -rf -- "$t"
  return "$s"
}

# Removes a file, a link or an empty directory.
remove() {
  if [ -d "$1" ] && [ ! -L "$1" ]; then rmdir -- "$1"; else rm -f -- "$1"; fi
}

# Removes everything there.
clear() {
  rm -rf -- "$1" 2>/dev/null || {
    chmod -R u+rwx -- "$1" 2>/dev/null
    rm -rf -- "$1"
  }
}

# Runs a program that reads what was sent: that, and the words of the call.
call() {
  q=${1#=}
  shift
  if [ -z "$q" ]; then (umask 022 && command "$@" </dev/null); else
    printf %b "$q" | (umask 022 && command "$@")
  fi
}

# What a ledger says: `none`, `ours`, `stale` if somebody with a higher number was here, or `other`. Path, lineage,
# slot, number.
whose() {
  W=none
  if [ -e "$1" ] || [ -L "$1" ]; then
    W=other
    L=
    S=
    F=
    if [ -f "$1" ] && [ -r "$1" ]; then
      {
        IFS= read -r l
        [ "$l" = 'fleet-ledger 1' ] && while IFS= read -r l; do
          case $l in
            'lineage '*) L=${l#* } ;;
            'slot '*) S=${l#* } ;;
            'fence '*) F=${l#* } ;;
          esac
        done
      } <"$1"
      case $F in
        '' | *[!0-9]*) ;;
        *)
          if [ "$L" = "$2" ] && [ "$S" = "$3" ]; then
            if [ "$F" -gt "$4" ]; then W=stale; else W=ours; fi
          fi
          ;;
      esac
    fi
  fi
}

# Writes our number into a ledger that is ours.
raise() {
  [ "$F" -lt "$4" ] || return 0
  t=$1.raised-$4
  while IFS= read -r l; do
    case $l in 'fence '*) l="fence $4" ;; esac
    printf '%s\n' "$l"
  done <"$1" >"$t" && chmod 644 "$t" && synced "$t" && mv -f -- "$t" "$1"
}

# Whether the host is ours, and knows our number.
holds() {
  if [ "$H" != "$2 $4 $3" ]; then
    whose "$@"
    if [ "$W" = ours ] && ! raise "$@"; then W=failed; fi
    [ "$W" = ours ] || return
    H="$2 $4 $3"
  fi
}

# Lets the steps after it run only if the host is ours.
held() {
  if holds "$@"; then
    x ours
  else
    if [ "$W" != none ]; then cat -- "$1"; fi
    x "$W"
    return 1
  fi
}

# Makes the ledger if there is none; that of a claim whose answer got lost is ours already. The last words are a name for
# the file that is new, and all that stands in it.
claim() {
  q=${1%/*}
  directory "${q:-/}" '' '' '' || return
  t=$1.$5
  down "$t" "$6" && chmod 644 "$t" && synced "$t" && {
    q=$(ln -- "$t" "$1" 2>&1) && {
      rm -f -- "$t"
      return 0
    }
  }
  rm -f -- "$t"
  whose "$@"
  case $W in
    ours) raise "$@" ;;
    none) complain "$q" ;;
    *)
      cat -- "$1"
      if [ "$W" = stale ]; then return 91; else return 90; fi
      ;;
  esac
}

# Removes the ledger and what lies beside it, if it is ours.
release() {
  whose "$@"
  case $W in
    ours) rm -rf -- "$1.d" "$1".up-* && rm -f -- "$1" ;;
    stale)
      cat -- "$1"
      return 91
      ;;
  esac
}

# Puts a line into the inventory: its directory, the name there, and the line. One that is new needs no other name first:
# what it is for is not there before it is whole.
listed() {
  if [ ! -d "$1" ]; then
    mkdir -- "$1" && chmod 755 "$1" || return
  fi
  t=$1/$2
  if [ -e "$t" ] || [ -L "$t" ]; then new "$t"; fi
  umask 022
  down "$t" "$3"
  s=$?
  umask 077
  if [ "$s" != 0 ]; then
    rm -f -- "$t"
    return "$s"
  fi
  if [ "$t" != "$1/$2" ]; then mv -f -- "$t" "$1/$2"; fi
}

# Which boot of the host this is.
boot() {
  if [ -r "$R/proc/sys/kernel/random/boot_id" ]; then
    cat -- "$R/proc/sys/kernel/random/boot_id"
  else
    sysctl -n kern.bootsessionuuid
  fi
}

# Starts the host anew, unless it is in another boot already.
restart() {
  q=$(boot) || return
  if [ "$q" != "$1" ]; then return 0; fi
  shutdown -r now >&2 || reboot >&2 || return
  return 95
}
