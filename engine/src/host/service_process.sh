p=$(launchctl print "$1" 2>/dev/null | sed -n 's/^[[:space:]]*pid = \([0-9][0-9]*\)$/\1/p')
if [ -n "$p" ]; then
  ps -o etime= -p "$p" | sed -n 's/^ *\([0-9:-][0-9:-]*\) *$/age \1/p'
  codesign -dvvv "+$p" 2>&1 | sed -n 's/^CDHash=/cdhash /p'
fi
