"""The .deb packages in a Debian of their own, from the installation to the purge.

    debootstrap --variant=minbase --include=python3,media-types,procps,logrotate bookworm build/debian
    make packages
    WHIMBREL_DEBIAN_ROOT=build/debian python -m pytest tests/packaging/test_debian_root.py

Processes, mounts and network are those of a namespace, which ends with the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.meta.tree import ROOT

NAMED = os.environ.get("WHIMBREL_DEBIAN_ROOT", "")
PACKAGES = sorted((ROOT / "dist").glob("whimbrel*.deb"))
BEGIN = """\
set -e
mount -t proc proc /proc
names() { find / -xdev \\( -path /proc -o -path /packages \\) -prune -o -print | sort; }
get() { python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1/").read())'; }
wait_for() {
    for _ in $(seq 200); do if "$@" >/dev/null 2>&1; then return; fi; sleep 0.1; done
    echo "no $*"
    exit 1
}
python3 - <<'END'
import fcntl, socket, struct
with socket.socket() as wire:  # brings lo up; the root has no ip(8)
    fcntl.ioctl(wire, 0x8914, struct.pack("16sH14s", b"lo", 0x49, b""))
END
names >/packages/before
"""
LIFE = """\
dpkg --install /packages/*.deb >/packages/log 2>&1 || { cat /packages/log; exit 1; }
whimbrel-httpd -f /etc/whimbrel/whimbrel.conf -t
test ! -e /var/www/html/index.html && echo hello >/var/www/html/index.html
mkdir -p /etc/apache2 /var/log/apache2 /run/apache2
sed -e 's#/run/whimbrel/whimbrel.pid#/run/apache2/apache2.pid#; s#/run/whimbrel#/run/apache2#' \\
    -e 's#/etc/whimbrel#/etc/apache2#; s#/var/log/whimbrel#/var/log/apache2#' \\
    -e '/unixd_module\\|log_config_module\\|logio_module/d' \\
    /etc/whimbrel/whimbrel.conf >/etc/apache2/apache2.conf
apachectl configtest
apache2ctl start
wait_for get
get
old=$(cat /run/apache2/apache2.pid)
apachectl graceful
wait_for grep -q 'resuming normal operations.*' /var/log/apache2/error.log
get
logrotate --force --state /packages/rotation /etc/logrotate.d/apache2
wait_for test -s /var/log/apache2/error.log
get
wait_for test -s /var/log/apache2/access.log
ls /var/log/apache2
test "$old" = "$(cat /run/apache2/apache2.pid)"
apachectl stop
wait_for test ! -e /run/apache2/apache2.pid
whimbrel-httpd -f /etc/whimbrel/whimbrel.conf -k start
wait_for get
dpkg --remove whimbrel-apache2 whimbrel >/packages/log 2>&1 || { cat /packages/log; exit 1; }
wait_for test ! -e /run/whimbrel/whimbrel.pid
echo processes: $(pgrep -c 'whimbrel|python|httpd')
test -s /var/log/whimbrel/access.log
rm -rf /etc/apache2 /var/log/apache2 /run/apache2 /var/www/html/index.html
dpkg --purge whimbrel-apache2 whimbrel >/packages/log 2>&1 || { cat /packages/log; exit 1; }
mkdir -p /opt
names >/packages/after
"""


@pytest.fixture
def debian() -> Path:
    root = Path(NAMED)
    if not NAMED or not (root / "etc/debian_version").is_file():
        pytest.skip("no root of Debian: WHIMBREL_DEBIAN_ROOT names one that debootstrap has made")
    if not PACKAGES:
        pytest.skip("no .deb in dist/: make packages")
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("namespaces need root and unshare(1)")
    return root


def test_a_life_from_the_installation_to_the_purge(debian: Path) -> None:
    shared = debian / "packages"
    shutil.rmtree(shared, ignore_errors=True)
    shared.mkdir()
    try:
        for package in PACKAGES:
            shutil.copy(package, shared)
        words = ["unshare", "--mount", "--pid", "--net", "--fork", "chroot", str(debian)]
        words += ["/usr/bin/env", "-i"]
        words += ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-c", BEGIN + LIFE]
        found = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert found.returncode == 0, found.stdout + found.stderr
        assert found.stdout.count("Syntax OK\n") + found.stderr.count("Syntax OK\n") == 2
        assert found.stdout.count(r"b'hello\n'") == 3
        assert "access.log\naccess.log.1\nerror.log\nerror.log.1\n" in found.stdout
        assert "processes: 0\n" in found.stdout
        before, after = ((shared / name).read_text().splitlines() for name in ("before", "after"))
        assert sorted(set(before) ^ set(after)) == []
    finally:
        shutil.rmtree(shared)
