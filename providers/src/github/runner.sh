# Installs the agent of GitHub Actions, registers it and lets it run in the session at the screen.
# Its directory, its user, where it is registered, its name, its labels, its directory for work, the PATH of its jobs, the
# digest of its archive, whether it is installed and whether it is registered (`yes` or `no`), for how many
# seconds it must have run and for how many it may take. The token is what is read.
dir=$R$1
user=$2
url=$3
name=$4
labels=$5
work=$6
path=$7
source=$8
installs=$9
registers=${10}
soak=${11}
patience=${12}
sent=${dir%/*}/.${dir##*/}.fleet-sent
old=$dir/.fleet-old
note=$dir/.fleet-runner
token=$(cat)

fail() {
  rm -rf -- "$sent"
  # cure put-back
  if [ -e "$old/.service" ] && [ "$(whose "$old")" != "$(whose "$dir")" ]; then
    restore
    set -- "$1. The runner of before goes on"
  fi
  # end put-back
  printf '%s\n' "$1" >&2
  exit 1
}

# As what it is registered, and where.
whose() { sed -n 's/.*"\([aA]gentName\|[gG]itHubUrl\)": *"\([^"]*\)".*/\2/p' "$1/.runner" 2>/dev/null; }

uid=$(id -u "$user" 2>/dev/null) || fail "there is no user $user"
domain=gui/$uid

as_user() { sudo -n -H -u "$user" "$@"; }

# A job that runs is not cut short.
idle() {
  n=0
  while pgrep -f Runner.Worker >/dev/null; do
    if [ "$n" -ge "$patience" ]; then fail "a job runs on it, and is not cut short: try again when it has ended"; fi
    sleep 1
    n=$((n + 1))
  done
}

# The service by the name that svc.sh gave it, which may have been cut where it is long.
service() { list=$(cat -- "$dir/.service" 2>/dev/null) && label=${list##*/} && label=${label%.plist} && target=$domain/$label; }
known() { launchctl print "$target" >/dev/null 2>&1; }
value() { launchctl print "$target" 2>/dev/null | sed -n "s/^[[:space:]]*$1 = //p" | head -n 1; }

unload() {
  service || return 0
  known || return 0
  launchctl bootout "$target" 2>/dev/null
  n=0
  while known; do
    if [ "$n" -ge "$patience" ]; then fail "launchd does not let go of $target"; fi
    sleep 1
    n=$((n + 1))
  done
}

# Puts what was sent in the place of what was installed; its configuration stays.
install() {
  [ -e "$sent/config.sh" ] || fail "the archive holds no config.sh: it is not that of the agent"
  mkdir -p -- "$dir" || fail "$dir cannot be made"
  for f in "$sent"/*; do
    { rm -rf -- "${dir:?}/${f##*/}" && mv -- "$f" "$dir/"; } || fail "${f##*/} cannot be put into $dir"
  done
  rm -rf -- "$sent"
  chown -R "$user:staff" "$dir" || fail "$dir cannot be given to $user"
}

# The registration that was set aside is the one that counts again.
back() {
  # cure put-back
  for f in .runner .credentials .credentials_rsaparams; do
    if [ -e "$old/$f" ]; then mv -f -- "$old/$f" "$dir/$f"; fi
  done
  # end put-back
  rm -rf -- "$old"
}

# What is registered under another name or elsewhere still holds there: where the new one does not come, its service is
# loaded again.
restore() {
  if [ -s "$dir/.service" ] && ! cmp -s -- "$dir/.service" "$old/.service" && service; then
    launchctl bootout "$target" 2>/dev/null
    rm -f -- "$R$list"
  fi
  for f in .service .fleet-runner; do
    if [ -e "$old/$f" ]; then mv -f -- "$old/$f" "$dir/$f"; fi
  done
  service
  if [ -e "$old/list" ] && [ ! -e "$R$list" ]; then mv -f -- "$old/list" "$R$list"; fi
  back
  known || launchctl bootstrap "$domain" "$R$list" 2>/dev/null
}

# Registers it anew. The old registration is set aside until the new one is there, and its agent goes on meanwhile.
register() {
  rm -rf -- "$old"
  mkdir -- "$old" || fail "the old registration cannot be set aside"
  # cure set-aside
  for f in .runner .credentials .credentials_rsaparams; do
    if [ -e "$dir/$f" ]; then mv -- "$dir/$f" "$old/$f" || fail "the old registration cannot be set aside"; fi
  done
  # end set-aside
  # The token goes from here to the environment of config.sh by a pipe, so that nobody sees it among the words of a process.
  # shellcheck disable=SC2016
  q=$(cd "$dir" && printf '%s\n' "$token" | as_user /bin/sh -c '
    IFS= read -r ACTIONS_RUNNER_INPUT_TOKEN && export ACTIONS_RUNNER_INPUT_TOKEN && exec ./config.sh "$@" </dev/null
  ' sh --unattended --replace --url "$url" --name "$name" --labels "$labels" --work "$work" 2>&1) && [ -e "$dir/.runner" ] &&
    [ -e "$dir/.credentials" ] && return 0
  back
  case $q in
    *404*) fail "GitHub refused the token (404): it is wrong, older than an hour, or not for $url. The registration of before is kept" ;;
    *) fail "the runner cannot be registered: $(printf '%s' "$q" | tail -n 1). The registration of before is kept" ;;
  esac
}

# What a run that was cut left.
if [ -e "$old/.runner" ] && [ ! -e "$dir/.runner" ]; then back; fi

if [ "$installs" = yes ] && [ ! -e "$dir/config.sh" ]; then
  install
  installs=no
fi
if [ "$registers" = yes ]; then
  idle
  register
  unload
  # The old one can come back until the agent of the new one has run for its soak.
  if service; then
    mv -f -- "$R$list" "$old/list" 2>/dev/null
    mv -f -- "$dir/.service" "$old/.service"
    cp -p -- "$note" "$old/.fleet-runner" 2>/dev/null
  fi
fi
if [ "$installs" = yes ]; then
  idle
  unload
  install
  # What the service starts is a copy.
  if [ -e "$dir/bin/runsvc.sh" ]; then
    { rm -f -- "$dir/runsvc.sh" && as_user cp -- "$dir/bin/runsvc.sh" "$dir/runsvc.sh"; } || fail "what its service starts cannot be renewed"
  fi
fi

# What GitHub knows and the files do not say is noted beside them, with the registration that it is about.
id=$(sed -n 's/.*"[aA]gentId": *\([0-9]*\).*/\1/p' "$dir/.runner" | head -n 1)
{
  printf 'source %s\nlabels %s\nagent %s\n' "$source" "$labels" "$id" >"$note.new" && chown "$user:staff" "$note.new" &&
    mv -f -- "$note.new" "$note"
} || fail "what was registered cannot be noted"

if ! service || [ ! -e "$R$list" ]; then
  rm -f -- "$dir/.service"
  q=$(cd "$dir" && as_user ./svc.sh install 2>&1) || fail "its service cannot be installed: $q"
  service || fail "svc.sh did not say which service it installed"
fi

# cure job-path
printf '%s\n' "$path" >"$dir/.path" || fail "the PATH of its jobs cannot be written"
chown "$user:staff" "$dir/.path"
# end job-path

# Not `svc.sh start`: that loads it the old way, which takes no agent from somebody who came over SSH.
was=$(value pid)
# cure bootstrap-gui
if known; then
  q=$(launchctl kickstart -k "$target" 2>&1) || fail "its agent cannot be started anew: $q"
else
  q=$(launchctl bootstrap "$domain" "$R$list" 2>&1) || case $q in
    *125*) fail "launchd has no domain $domain: nobody is logged in at the screen, so there is no session for the agent ($q)" ;;
    *) fail "launchd does not load $list: $q" ;;
  esac
fi
# without bootstrap-gui
#- q=$(cd "$dir" && as_user ./svc.sh start 2>&1) || fail "$q"
# end bootstrap-gui

n=0
while :; do
  p=$(value pid)
  if [ -n "$p" ] && [ "$p" != "$was" ]; then
    m=0
    while [ "$m" -lt "$soak" ] && [ "$(value pid)" = "$p" ]; do
      sleep 1
      m=$((m + 1))
    done
    if [ "$(value pid)" = "$p" ]; then break; fi
  fi
  if [ "$n" -ge "$patience" ]; then
    fail "its agent does not stay: launchd says: state = $(value state), last exit code = $(value 'last exit code')"
  fi
  sleep 1
  n=$((n + 1))
done

# It is proven. What the one before it had goes, and its logs, unless they are of the same service.
if [ -s "$old/.service" ] && ! cmp -s -- "$old/.service" "$dir/.service"; then
  l=$(cat -- "$old/.service")
  l=${l##*/}
  rm -rf -- "$R/Users/$user/Library/Logs/${l%.plist}"
fi
rm -rf -- "$old"
