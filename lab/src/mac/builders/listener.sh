#!/bin/sh
# The agent itself. The lab carries it out, which sees no environment: so that is handed over beside the words.
if [ "$1" = --version ]; then
  echo VERSION
  exit
fi
env | exec lab-runner "$@"
