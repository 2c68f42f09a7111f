# Puts tailscale and tailscaled in their places: signed, and as new files, because the kernel remembers the signature of a
# program by its inode. The digest of the archive, which lies beside them.
set -eu
digest=$1
place=$R/usr/local/bin
archive=$place/.tailscale.fleet-archive
new=$place/.tailscale.fleet-new
note=$place/.tailscale.fleet-installed

trap 'rm -rf -- "$new" "$archive" "$note.new"' EXIT

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

rm -rf -- "$new"
mkdir -- "$new"
q=$(tar -xf "$archive" -C "$new" 2>&1) || fail "the archive cannot be unpacked: $q"
printf 'archive %s\n' "$digest" >"$note.new"
for name in tailscale tailscaled; do
  found=$(find "$new" -type f -name "$name" | head -n 1)
  if [ -z "$found" ]; then fail "the archive holds no program $name"; fi
  if ! codesign -v "$found" 2>/dev/null; then
    q=$(codesign --force --sign - --identifier "$name" "$found" 2>&1) || fail "$name cannot be signed: $q"
  fi
  chown root:wheel "$found"
  chmod 755 "$found"
  sum=$(shasum -a 256 -- "$found")
  sum=${sum#\\}
  printf '%s %s\n' "$name" "${sum%% *}" >>"$note.new"
  mv -f -- "$found" "$place/$name"
done
chmod 644 "$note.new"
mv -f -- "$note.new" "$note"
