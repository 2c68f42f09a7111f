#!/bin/sh
# Settings of power, which are preferences of the system.
kept=/Library/Preferences/com.apple.PowerManagement
show() {
  printf ' %-20s %s\n' "$1" "$(defaults read "$kept" "$1" 2>/dev/null || echo "$2")"
}
case $1 in
  -g)
    echo 'AC Power:'
    show 'Sleep On Power Button' 1
    show autorestart 0
    show powernap 1
    show networkoversleep 0
    show disksleep 10
    show sleep 1
    show ttyskeepawake 1
    show displaysleep 10
    show tcpkeepalive 1
    show womp 1
    ;;
  -a | -c)
    if [ "$(id -u)" != 0 ]; then
      echo "'pmset' must be run as root..." >&2
      exit 77
    fi
    shift
    while [ $# -gt 1 ]; do
      defaults write "$kept" "$1" -int "$2" || exit
      shift 2
    done
    ;;
  *)
    echo 'Usage: pmset <options>' >&2
    exit 64
    ;;
esac
