# Nobody is logged in by itself any more, and who was is logged out.
set -eu
# Where nobody was, somebody may have logged in by hand.
if [ ! -e "$R/private/etc/kcpassword" ] && ! defaults read /Library/Preferences/com.apple.loginwindow autoLoginUser >/dev/null 2>&1; then
  exit 0
fi
rm -f "$R/private/etc/kcpassword"
without /Library/Preferences/com.apple.loginwindow autoLoginUser
launchctl kickstart -k system/com.apple.loginwindow
