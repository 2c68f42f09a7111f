#!/bin/sh
# Runs one job with the configuration that lies beside this script, and takes it away: it is good for one runner.
cd "$(dirname "$0")" || exit
[ -s configuration ] || exit 0
# Every job has an agent that no other job has touched.
rm -rf run
cp -R agent run || exit
# It comes through the environment: among the words of a process everybody could read it.
ACTIONS_RUNNER_INPUT_JITCONFIG=$(cat configuration)
export ACTIONS_RUNNER_INPUT_JITCONFIG
run/run.sh || exit
rm -rf configuration run
