# Lets loginwindow log somebody in: the number of the user, how many seconds that may take, and what the file is like, in
# hexadecimal digits, once macOS has refused the password. The file and the preference are there already.
set -eu
uid=$1
left=$2

# The number of loginwindow's process; nothing if it is gone.
process() {
  launchctl print system/com.apple.loginwindow 2>/dev/null | awk '$1 == "pid" { print $3; exit }'
}

was=$(process)
# cure kickstart-loginwindow
# launchd never starts one again that was hung up on; this does.
launchctl kickstart -k system/com.apple.loginwindow
# without kickstart-loginwindow
#- killall -HUP loginwindow
# end kickstart-loginwindow
while [ "$left" -gt 0 ]; do
  sleep 1
  left=$((left - 1))
  if [ "$(od -An -v -tx1 <"$R/private/etc/kcpassword" | tr -d ' \n')" = "$3" ]; then
    echo 'macOS refused the password and sealed it: it is not the password of this user' >&2
    exit 1
  fi
  # A session of before may still be on its way out.
  is=$(process)
  if [ -n "$is" ] && [ "$is" != "$was" ] && launchctl print "gui/$uid" 2>/dev/null | grep -q 'session = Aqua'; then
    exit 0
  fi
done
echo "nobody was logged in at the screen within $2 seconds, and macOS does not say why" >&2
exit 1
