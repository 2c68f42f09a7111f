# Names are looked up anew, by the servers that the files in /etc/resolver name now. What was found before is forgotten,
# and so is that something was not found.
set -eu
rmdir "$R/private/etc/resolver" 2>/dev/null || :
# cure flush-names
dscacheutil -flushcache
killall -HUP mDNSResponder
# end flush-names
