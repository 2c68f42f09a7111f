# Makes launchd run a service as its property list says, and waits until it is seen to.
# What is done (`restart` what is loaded, `reload` the property list, only `check` what runs), the domain, the label, where
# the property list lies, who owns it, whether it is to stay (`stays`, `ends` or `waits`), for how many seconds it must have
# run, for how many it may take, the URL that must answer, and its program. The property list is what is read.
act=$1
domain=$2
label=$3
list=$R$4
owner=$5
life=$6
soak=$7
patience=$8
health=$9
program=${10}
target=$domain/$label
new=${list%/*}/.${list##*/}.fleet-new

fail() {
  printf '%s\n' "$1" >&2
  rm -f -- "$new"
  exit 1
}

# What launchd says of the service.
told() { launchctl print "$target" 2>/dev/null; }
known() { told >/dev/null; }
value() { told | sed -n "s/^[[:space:]]*$1 = //p" | head -n 1; }

# Why it does not run, as launchd knows it, and what to do about it.
why() {
  said=$(told) || {
    printf 'launchd does not know it'
    return
  }
  case $said in
    *OS_REASON_CODESIGNING*)
      printf 'the kernel kills it for its code signature (OS_REASON_CODESIGNING): %s was overwritten in place or is not signed; ' "$program"
      printf 'a macos_signed_binary puts it there as a new, signed file'
      ;;
    *'last exit code = 78: EX_CONFIG'*)
      printf 'launchd cannot start it (EX_CONFIG): %s, its working directory or the directory of its log is missing' "$program"
      ;;
    *)
      printf 'launchd says: state = %s' "$(value state)"
      printf '%s\n' "$said" | sed -n 's/^[[:space:]]*\(last [a-z ]* = .*\)$/, \1/p' | tr -d '\n'
      ;;
  esac
}

# Waits until a process other than the old one has run for the soak. A crash loop shows one for a moment, too.
settled() {
  n=0
  while [ "$n" -lt "$patience" ]; do
    p=$(value pid)
    if [ -n "$p" ] && [ "$p" != "$old" ]; then
      # cure soak
      m=0
      while [ "$m" -lt "$soak" ] && [ "$(value pid)" = "$p" ]; do
        sleep 1
        m=$((m + 1))
      done
      n=$((n + m))
      # end soak
      if [ "$(value pid)" = "$p" ]; then return 0; fi
    fi
    sleep 1
    n=$((n + 1))
  done
  return 1
}

# Waits until it ended well; what only waits for its time has nothing to show.
finished() {
  n=0
  while [ "$n" -lt "$patience" ]; do
    if [ "$(value state)" = 'not running' ] && [ "$(value runs)" != "${before:-0}" ]; then
      [ "$(value 'last exit code')" = 0 ]
      return
    fi
    sleep 1
    n=$((n + 1))
  done
  return 1
}

came() {
  case $life in
    stays) settled ;;
    ends) finished ;;
    *) known ;;
  esac
}

restart() {
  # cure restart-kills
  launchctl kickstart -k "$target"
  # without restart-kills
  #- launchctl kickstart "$target"
  # end restart-kills
}

# Lets launchd load and start it, where somebody said that it must not.
allow() {
  # cure enable
  if launchctl print-disabled "$domain" 2>/dev/null | grep -F "\"$label\" => " | grep -q -e disabled -e true; then
    launchctl enable "$target"
  fi
  # end enable
}

# Takes the service out, and waits until it is gone: who loads it again before that is refused.
unload() {
  known || return 0
  launchctl bootout "$target" 2>/dev/null
  # cure wait-for-bootout
  n=0
  while known; do
    if [ "$n" -ge "$patience" ]; then fail "launchd does not let go of $target"; fi
    sleep 1
    n=$((n + 1))
  done
  # end wait-for-bootout
}

load() {
  q=$(launchctl bootstrap "$domain" "$list" 2>&1) && return 0
  # cure wait-for-bootout
  n=0
  while [ "$n" -lt 5 ]; do
    sleep 1
    n=$((n + 1))
    q=$(launchctl bootstrap "$domain" "$list" 2>&1) && return 0
    if known; then return 0; fi
  done
  case $q in
    *125*) fail "launchd has no domain $domain: nobody is logged in at the screen, so there is no Aqua session for an agent ($q)" ;;
    *) fail "launchd does not load $list: $q" ;;
  esac
  # end wait-for-bootout
}

old=$(value pid)
before=$(value runs)
if [ "$act" != check ]; then
  # cure make-directory
  mkdir -p -- "${list%/*}" || fail "${list%/*} cannot be made"
  # end make-directory
  cat >"$new" || fail "the property list cannot be written"
  allow
  # cure kickstart-what-is-same
  if [ "$act" = restart ] && known && cmp -s -- "$new" "$list"; then
    rm -f -- "$new"
    { chown -- "$owner" "$list" && chmod 644 "$list"; } || fail "$list cannot be given to $owner"
    q=$(restart 2>&1) || fail "it cannot be restarted: $q"
    act=restarted
  fi
  # end kickstart-what-is-same
  if [ "$act" != restarted ]; then
    unload
    { chown -- "$owner" "$new" && chmod 644 "$new" && mv -f -- "$new" "$list"; } || fail "$list cannot be put in place"
    old=
    before=
    load
  fi
  if ! came; then
    q=$(restart 2>&1)
    came || fail "it does not run: $(why)"
  fi
fi

if [ -n "$health" ]; then
  n=0
  until q=$(curl -fsS -m 5 -o /dev/null "$health" 2>&1); do
    if [ "$n" -ge "$patience" ]; then fail "it runs, but $health does not answer well: $q"; fi
    sleep 1
    n=$((n + 1))
  done
fi
