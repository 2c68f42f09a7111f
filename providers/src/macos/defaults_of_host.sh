# A preference of this host alone goes, and with the last of them its domain: domain and key.
set -eu
if defaults -currentHost read "$1" "$2" >/dev/null 2>&1; then defaults -currentHost delete "$1" "$2"; fi
if defaults -currentHost read "$1" >/dev/null 2>&1 && ! defaults -currentHost export "$1" - | grep -q '<key>'; then
  defaults -currentHost delete "$1"
fi
