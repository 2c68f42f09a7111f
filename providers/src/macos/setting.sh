# A setting of a Mac is where it is kept, its name and its type. Where: the name of a tool, or a domain of preferences.

# What a setting is, as text; nothing if it is not set.
setting() {
  case $1 in
    pmset) pmset -g custom | awk -v name="$2" '$1 == name { print $2; exit }' ;;
    mdutil) mdutil -s / | grep -c 'Indexing enabled' || : ;;
    socketfilterfw) socketfilterfw --getglobalstate | grep -c enabled || : ;;
    launchctl) if launchctl print-disabled system | grep -E -q "\"$2\" => (disabled|true)"; then echo 0; else echo 1; fi ;;
    softwareupdate) defaults read /Library/Preferences/com.apple.SoftwareUpdate "$2" 2>/dev/null || : ;;
    *) defaults read "$1" "$2" 2>/dev/null || : ;;
  esac
}

# Makes a setting another: where, name, type, value.
make() {
  case $4 in
    0 | false) switch=off truth=false ;;
    *) switch=on truth=true ;;
  esac
  case $1 in
    pmset) pmset -a "$2" "$4" ;;
    mdutil) mdutil -a -i "$switch" >/dev/null ;;
    socketfilterfw) socketfilterfw --setglobalstate "$switch" >/dev/null ;;
    softwareupdate) softwareupdate --schedule "$switch" >/dev/null ;;
    # What was switched off before stays on: nobody would get in after the next start.
    launchctl) if [ "$switch $(setting launchctl "$2")" = 'on 0' ]; then launchctl enable "system/$2"; fi ;;
    *) if [ "$3" = bool ]; then defaults write "$1" "$2" -bool "$truth"; else defaults write "$1" "$2" "-$3" "$4"; fi ;;
  esac
}

# A setting that was not set is not set again.
unmake() {
  case $1 in
    softwareupdate) without /Library/Preferences/com.apple.SoftwareUpdate "$2" ;;
    /*) without "$1" "$2" ;;
  esac
}
