# Puts Tart in its place, and the wrapper by which it is called; then asks it for its version.
# What is done (`replace` the bundle by the one that was sent, or only `wrap` the one that is there), the version that must
# answer, and for how many seconds VMs that run are waited for.
act=$1
version=$2
patience=$3
bundle=$R/usr/local/lib/tart.app
sent=$R/usr/local/lib/.tart.app.fleet-sent
wrapper=$R/usr/local/bin/tart
PATH=$PATH:/usr/local/bin

fail() {
  printf '%s\n' "$1" >&2
  rm -rf -- "$sent"
  exit 1
}

if [ "$act" = replace ]; then
  # cure no-swap-under-vms
  q=$(wait_for_vms "$patience") || fail "Tart is not replaced while VMs run with it, and these do: $q. Let them end first, or give \`wait\` more seconds"
  # end no-swap-under-vms
  [ -x "$sent/Contents/MacOS/tart" ] || fail "the archive holds no tart.app with Contents/MacOS/tart in it"
  rm -rf -- "$bundle" || fail "the old bundle cannot be removed"
  { chown -R root:wheel "$sent" && mv -- "$sent" "$bundle"; } || fail "the bundle cannot be put in place"
fi

# A wrapper and no link: what lets Tart run VMs is the signature of its bundle, which a program behind a link has not.
mkdir -p -- "${wrapper%/*}" || fail "${wrapper%/*} cannot be made"
rm -f -- "$wrapper" || fail "$wrapper cannot be replaced"
# cure wrapper
# shellcheck disable=SC2016
printf '#!/bin/sh\nexec /usr/local/lib/tart.app/Contents/MacOS/tart "$@"\n' >"$wrapper" || fail "its wrapper cannot be written"
chmod 755 "$wrapper" || fail "its wrapper cannot be made a program"
# without wrapper
#- ln -s /usr/local/lib/tart.app/Contents/MacOS/tart "$wrapper"
# end wrapper

q=$(tart --version 2>&1) || fail "Tart cannot be started: $q"
[ "$q" = "$version" ] || fail "this Tart says that it is $q, and $version is wanted"
