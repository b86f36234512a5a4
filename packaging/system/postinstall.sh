#!/bin/sh
# After the installation: the account of the workers, the directories of logs, of the PidFile and of documents, and the unit for systemd, which stays disabled until the administrator enables it.
set -e
if ! getent passwd www-data >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir /var/www --shell /usr/sbin/nologin www-data
fi
install -d -m 750 -g adm /var/log/whimbrel 2>/dev/null || install -d -m 750 /var/log/whimbrel
install -d -m 755 /run/whimbrel
[ -d /var/www/html ] || install -d -m 755 /var/www/html
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
