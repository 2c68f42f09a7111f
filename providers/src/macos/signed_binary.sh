# Puts a program in its place: signed ad hoc, as a new file, because the kernel remembers the signature of the old one by its
# inode and kills what is started from that inode with other bytes in it.
# Where it lies, its mode, its owner and group, and the digest of what it was made from. What was sent lies beside it.
path=$R$1
mode=$2
owner=$3
source=$4
name=${path##*/}
new=${path%/*}/.$name.fleet-unsigned
note=${path%/*}/.$name.fleet-signed

fail() {
  printf '%s\n' "$1" >&2
  rm -f -- "$new"
  exit 1
}

if [ -d "$path" ]; then fail "$path is a directory"; fi

# cure sign
q=$(codesign --force --sign - --identifier "$name" "$new" 2>&1) || fail "it cannot be signed: $q"
q=$(codesign -v "$new" 2>&1) || fail "its new signature is not sound: $q"
# end sign

{ chown -- "$owner" "$new" && chmod -- "$mode" "$new"; } || fail "it cannot be given to $owner with mode $mode"
digest=$(shasum -a 256 -- "$new") || fail "its digest cannot be found"
digest=${digest#\\}

# What is noted is of use only with the file itself, so that either may come first.
{
  printf 'source %s\ninstalled %s\n' "$source" "${digest%% *}" >"$note.new" && chmod 644 "$note.new" &&
    mv -f -- "$note.new" "$note"
} || fail "what it was made from cannot be noted beside it"

# cure new-inode
mv -f -- "$new" "$path" || fail "it cannot be put in place"
# without new-inode
#- { cat -- "$new" >"$path" && chmod -- "$mode" "$path" && rm -f -- "$new"; } || fail "it cannot be put in place"
# end new-inode
