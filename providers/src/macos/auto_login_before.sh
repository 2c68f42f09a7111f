# Nobody is logged in by itself any more, and who was is logged out.
set -eu
rm -f "$R/private/etc/kcpassword"
without /Library/Preferences/com.apple.loginwindow autoLoginUser
launchctl kickstart -k system/com.apple.loginwindow
