#!/bin/sh
# Before the removal, not before an upgrade: the server ends.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
    systemctl disable --now whimbrel.service || true
elif [ -s /run/whimbrel/whimbrel.pid ]; then
    pkill -TERM -F /run/whimbrel/whimbrel.pid || true
fi
