#!/bin/sh
# Configures the agent, or takes its configuration away.
if [ "$(id -u)" = 0 ] && [ -z "$RUNNER_ALLOW_RUNASROOT" ]; then
  echo 'Must not run with sudo'
  exit 1
fi
cd "$(dirname "$0")" || exit
if [ "$1" = remove ]; then
  shift
  exec ./bin/Runner.Listener remove "$@"
fi
./env.sh
exec ./bin/Runner.Listener configure "$@"
