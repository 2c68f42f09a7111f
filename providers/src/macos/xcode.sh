# Selects an Xcode that is there and accepts its licence: the application, and whether each of the two is wanted.
app=$1
selects=$2
accepts=$3

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

if [ ! -d "$R$app/Contents/Developer" ]; then
  fail "$app is not there, and Xcode cannot be installed by fleet: order the Mac with the \`macOS + Xcode\` image, or install it from Apple by hand"
fi
if [ "$selects" = yes ] && [ "$(xcode-select -p 2>/dev/null)" != "$app/Contents/Developer" ]; then
  # Where nobody ever selected one, macOS finds one by itself.
  if [ -L "$R/var/db/xcode_select_link" ]; then xcode-select -p; fi | before xcode
  # cure select-xcode
  q=$(xcode-select --switch "$app/Contents/Developer" 2>&1) || fail "$app cannot be selected: $q"
  # end select-xcode
fi
if [ "$accepts" = yes ] && ! xcodebuild -license check >/dev/null 2>&1; then
  # cure accept-licence
  q=$(xcodebuild -license accept 2>&1) || fail "the licence of $app cannot be accepted: $q"
  # end accept-licence
fi
if [ "$selects$accepts" = yesyes ]; then
  q=$(xcrun --find swift 2>&1) || fail "$app is selected, and has no swift: $q"
fi
