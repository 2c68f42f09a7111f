# Which version it is, without running it: that would leave a log each time.
sed -n 's|^.*"Runner[.]Listener/\([0-9][0-9.]*\)".*$|version \1|p' "${FLEET_ROOT-}$1/bin/Runner.Listener.deps.json" 2>/dev/null | head -n 1
l=$(cat -- "${FLEET_ROOT-}$1/.service" 2>/dev/null) || exit 3
u=$(id -u "$2") || exit
l=${l##*/}
printf 'label %s\n' "${l%.plist}"
launchctl print "gui/$u/${l%.plist}"
