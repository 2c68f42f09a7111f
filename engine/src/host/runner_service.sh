v=$(sudo -n -u "$2" "${FLEET_ROOT-}$1/bin/Runner.Listener" --version 2>/dev/null </dev/null) && printf 'version %s\n' "$v"
l=$(cat -- "${FLEET_ROOT-}$1/.service" 2>/dev/null) || exit 3
u=$(id -u "$2") || exit
l=${l##*/}
printf 'label %s\n' "${l%.plist}"
launchctl print "gui/$u/${l%.plist}"
