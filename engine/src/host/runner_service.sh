v=$(sudo -n -u "$2" "${FLEET_ROOT-}$1/bin/Runner.Listener" --version 2>/dev/null </dev/null) && printf 'version %s\n' "$v"
