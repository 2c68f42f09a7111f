# What was there before is kept on the host until the thing is removed, one file for each kind.
B=$R/private/var/db/fleet

# Keeps what it reads, unless something is kept already: then that is what was there before.
before() {
  if [ ! -e "$B/$1" ]; then
    mkdir -p "$B"
    cat >"$B/.$1.new"
    mv -f "$B/.$1.new" "$B/$1"
  fi
}

# Nothing is kept any more.
forgotten() {
  rm -f "$B/$1" "$B/.$1.new"
  rmdir "$B" 2>/dev/null || :
}

# A preference goes, and with the last of them its domain.
without() {
  if defaults read "$1" "$2" >/dev/null 2>&1; then defaults delete "$1" "$2"; fi
  if defaults read "$1" >/dev/null 2>&1 && ! defaults export "$1" - | grep -q '<key>'; then defaults delete "$1"; fi
}
