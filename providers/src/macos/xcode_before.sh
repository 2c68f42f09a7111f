# What was selected before is selected again; where that was nothing, macOS finds one by itself.
set -eu
if [ -e "$B/xcode" ]; then
  was=$(cat "$B/xcode")
  if [ -n "$was" ] && [ -d "$R$was" ]; then xcode-select --switch "$was"; else xcode-select --reset; fi
fi
forgotten xcode
