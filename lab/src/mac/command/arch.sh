#!/bin/sh
if [ $# -gt 0 ]; then exec "$@"; fi
echo arm64
