#!/bin/sh
# After a purge: the logs and directories that the installation made, those of documents if they are empty.
set -e
[ "$1" = purge ] || exit 0
rm -rf /var/log/whimbrel /run/whimbrel
rmdir /var/www/html /var/www 2>/dev/null || true
