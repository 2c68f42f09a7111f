# Puts Homebrew in its place, unless there is one: where it lies, and what was sent.
prefix=$R$1
sent=$R$2
if [ -e "$prefix/bin/brew" ]; then
  rm -rf -- "$sent"
  exit 0
fi
if [ ! -e "$sent/bin/brew" ]; then
  printf '%s\n' 'the archive of Homebrew holds no bin/brew' >&2
  rm -rf -- "$sent"
  exit 1
fi
mkdir -p -- "$sent/Cellar" "$sent/Library/Taps" "$sent/var/homebrew"
printf 'homebrew\n' >"$sent/.fleet-brew"
mv -- "$sent" "$prefix"
