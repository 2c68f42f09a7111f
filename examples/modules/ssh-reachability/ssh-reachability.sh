#!/bin/sh
# Lets people in again when nobody gets in: scanners fill the backlog of the SSH port with half-open connections, and
# launchd, which owns the port, does not clear it by itself. Who is logged in stays so.
if nc -z -G 3 127.0.0.1 22 2>/dev/null; then exit 0; fi
tell() { echo "$(date): $1" >&2; }
tell 'port 22 does not answer; sshd is taken out and put back'
# cure put-sshd-back
sshd=system/com.openssh.sshd
known() { launchctl print "$sshd" >/dev/null 2>&1; }
# launchd says that it is out before it is, and refuses what it has not let go of.
launchctl bootout "$sshd" 2>/dev/null
n=0
while known && [ "$n" -lt 30 ]; do
  sleep 1
  n=$((n + 1))
done
n=0
until said=$(launchctl bootstrap system /System/Library/LaunchDaemons/ssh.plist 2>&1) && known; do
  if [ "$n" -ge 30 ]; then
    tell "sshd cannot be put back: $said"
    exit 1
  fi
  sleep 1
  n=$((n + 1))
done
# end put-sshd-back
