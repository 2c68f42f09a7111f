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

# Where something is made before it gets its name. What a crash left there goes.
new() {
  t=${1%/*}/.${1##*/}.fleet-new
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

# Makes a place in a directory for new files that are written ahead of their steps, under their own names, so that few
# programs do for many files. What a crash left there goes.
gather() {
  t=$1/.fleet-new
  if [ -e "$t" ] || [ -L "$t" ]; then rm -rf -- "$t"; fi
  mkdir -- "$t"
}

# Writes one of them, after the inventory was told: its number, where it lies until it has its place, that place, the mask
# that makes its mode, what was sent, and what the inventory is told: its directory, a name and a line.
ahead() {
  if [ -e "$3" ] || [ -L "$3" ]; then return; fi
  new "$3"
  if [ -n "$6" ]; then
    listed "$6" "$7" "$8" || return
    I="$I $1"
  fi
  umask "$4"
  down "$2" "$5" || rm -f -- "$2"
  umask 077
}

# Those of some files that are there, as words to be evaluated.
there() {
  a=
  n=0
  for f do
    n=$((n + 1))
    if [ -f "$f" ]; then a="$a \"\${$n}\""; fi
  done
}

# Gives those of some files a mode that are there; what cannot have it is left to its step.
modes() {
  m=$1
  shift
  there "$@"
  if [ -n "$a" ]; then eval "chmod -- \"\$m\" $a || rm -f -- $a"; fi
}

# Brings those to the disk that are there, and puts them in place: the directory, the numbers of all that may be there, and
# these. What fails here is left to the steps.
land() {
  d=$1
  m=$2
  shift 2
  there "$@"
  if [ -n "$a" ] && eval "synced $a"; then
    u=
    q="$m "
    for f do
      if [ -f "$f" ]; then u="$u ${q%% *} "; fi
      q=${q#* }
    done
    eval "mv -f -- $a \"\$d/\""
    q="$m "
    for f do
      if [ ! -e "$f" ]; then
        case $u in *" ${q%% *} "*) A="$A ${q%% *}" ;; esac
      fi
      q=${q#* }
    done
  fi
  rm -rf -- "$d/.fleet-new"
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
# number if it may be there already, because it was written ahead.
put() {
  case " $A " in *" ${9:--} "*) return 0 ;; esac
  made "$1" "$2" "$3" "$4" "$5" "$6" "$7" && keep "$t" "$M" "$O" "$G" && settle "$1" "$8" && return 0
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

# Removes what a crash left of something that was about to be made here: nobody else would ever find it. All that lies beside
# it under a name of ours is of it: what was sent, unpacked or set aside, and what that was made as.
unmade() {
  q=${1%/*}
  for t in "$q/.${1##*/}.fleet-"* "$q/..${1##*/}.fleet-"*; do
    if [ -e "$t" ] || [ -L "$t" ]; then rm -rf -- "$t"; fi
  done
  t=$q/.fleet-new/${1##*/}
  if [ -e "$t" ] || [ -L "$t" ]; then
    rm -rf -- "$t"
    rmdir -- "$q/.fleet-new" 2>/dev/null
  fi
  return 0
}

# Removes a file, a link or an empty directory.
remove() {
  unmade "$1"
  if [ -d "$1" ] && [ ! -L "$1" ]; then rmdir -- "$1"; else rm -f -- "$1"; fi
}

# Removes everything there.
clear() {
  unmade "$1"
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

# Carries out a procedure that was sent, as was what it reads: that, the text, and the words of the call.
procedure() {
  q=${1#=}
  u=$(printf %b. "${2#=}")
  shift 2
  if [ -z "$q" ]; then (umask 022 && eval "${u%.}") </dev/null; else
    printf %b "$q" | (umask 022 && eval "${u%.}")
  fi
}

# What a ledger says: `none`, `ours`, `stale` if somebody with a higher number was here, or `other`. Path, lineage,
# slot, number; and where one claim is told from another, its name and its installation.
whose() {
  W=none
  if [ -e "$1" ] || [ -L "$1" ]; then
    W=other
    L=
    S=
    F=
    C=
    E=
    if [ -f "$1" ] && [ -r "$1" ]; then
      {
        IFS= read -r l
        [ "$l" = 'fleet-ledger 1' ] && while IFS= read -r l; do
          case $l in
            'lineage '*) L=${l#* } ;;
            'slot '*) S=${l#* } ;;
            'fence '*) F=${l#* } ;;
            'claim '*) C=${l#* } ;;
            'epoch '*) E=${l#* } ;;
          esac
        done
      } <"$1"
      case $F in
        '' | *[!0-9]*) ;;
        *)
          if [ "$L" = "$2" ] && [ "$S" = "$3" ] &&
            { [ -z "${5-}" ] || { [ "$C" = "$5" ] && [ "$E" = "$6" ]; }; }; then
            if [ "$F" -gt "$4" ]; then W=stale; else W=ours; fi
          fi
          ;;
      esac
    fi
  fi
}

# Writes a ledger that is ours anew, with our number: path, number, and how far the claim is if that is another than before.
anew() {
  # The shell of the user and that of root may come here at once.
  t=$1.raised-$2-$$
  while IFS= read -r l; do
    case $l in
      'fence '*) l="fence $2" ;;
      'state '*) l="state ${3:-${l#* }}" ;;
    esac
    printf '%s\n' "$l"
  done <"$1" >"$t" && chmod 644 "$t" && synced "$t" && mv -f -- "$t" "$1"
}

# Writes our number into a ledger that is ours.
raise() {
  [ "$F" -lt "$4" ] || return 0
  anew "$1" "$4"
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
    s=1
  fi
}

# Makes the ledger if there is none; that of a claim whose answer got lost is ours already. After the words of `whose`
# come a name for the file that is new, and all that stands in it.
claim() {
  q=${1%/*}
  directory "${q:-/}" '' '' '' || return
  t=$1.$7
  down "$t" "$8" && chmod 644 "$t" && synced "$t" && {
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
    *) refused "$1" ;;
  esac
}

# Shows the ledger of somebody else.
refused() {
  cat -- "$1"
  if [ "$W" = stale ]; then return 91; else return 90; fi
}

# Removes the ledger and what lies beside it, if it is ours, and of that claim where one is named.
release() {
  whose "$1" "$2" "$3" "$4"
  case $W in
    ours)
      if [ -n "$5" ] && { [ "$C" != "$5" ] || { [ -n "$6" ] && [ "$E" != "$6" ]; }; }; then
        # Another claim is not given back. Who does not know the installation wants to hear of it.
        [ -n "$6" ] || refused "$1"
      else
        rm -rf -- "$1.d" "$1".up-* "$1".raised-* && rm -f -- "$1.unconfirmed" "$1"
      fi
      ;;
    stale) refused "$1" ;;
  esac
}

# Says in the ledger how far the claim is. After the words of `whose` comes the state.
mark() {
  whose "$@"
  case $W in
    ours) anew "$1" "$4" "$7" ;;
    none) return 90 ;;
    *) refused "$1" ;;
  esac
}

# Takes a ledger out of the way if it is that claim, and makes ours. `mv` lets one of several win. After the words of
# `whose` come a name, all that stands in ours, and the claim that gives way.
take_over() {
  whose "$@"
  case $W in
    ours) return 0 ;;
    stale) refused "$1" ;;
    other)
      o=$1.aged-$7
      [ "$C" = "$9" ] || refused "$1" || return
      mv -- "$1" "$o" 2>/dev/null
      whose "$o" '' '' 0
      if [ "$W" != none ] && [ "$C" != "$9" ]; then
        # Somebody else took it in between: theirs goes back, unless there is another by now.
        ln -- "$o" "$1" 2>/dev/null
      fi
      rm -f -- "$o"
      ;;
  esac
  claim "$1" "$2" "$3" "$4" "$5" "$6" "$7" "$8"
}

# Puts a line into the inventory: its directory, the name there, the line, and the number of what may have been written
# ahead. One that is new needs no other name first: what it is for is not there before it is whole.
listed() {
  case " $I " in *" ${4:--} "*) return 0 ;; esac
  if [ ! -d "$1" ]; then
    # The shell of the user and that of root may come here at once.
    mkdir -m 755 -- "$1" 2>/dev/null || [ -d "$1" ] || mkdir -- "$1" || return
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
