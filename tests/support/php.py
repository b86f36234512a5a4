"""php-fpm with a configuration of its own on a Unix socket, and copies of Debian's applications."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

DOKUWIKI, DOKUWIKI_DATA = Path("/usr/share/dokuwiki"), Path("/var/lib/dokuwiki")
PHPMYADMIN = Path("/usr/share/phpmyadmin")
_CONF = """
[global]
error_log = {base}/fpm.log
daemonize = no
[www]
{user}
listen = {socket}
listen.mode = 0666
pm = static
pm.max_children = {children}
pm.max_requests = 0
catch_workers_output = yes
php_admin_value[session.save_path] = {base}
php_admin_value[upload_tmp_dir] = {base}
php_admin_value[error_reporting] = 0
php_admin_flag[display_errors] = off
"""


def php_fpm() -> str | None:
    """Return the path of the program, None if it is not installed."""
    found = sorted(Path("/usr/sbin").glob("php-fpm*"))
    return str(found[-1]) if found else shutil.which("php-fpm")


class PhpFpm:
    """A php-fpm process; a context manager. `socket` is the path of its Unix socket."""

    def __init__(self, base: Path, children: int = 2) -> None:
        self.base, self.socket = base, base / "fpm.sock"
        user = "user = www-data\ngroup = www-data" if os.getuid() == 0 else ""
        conf = _CONF.format(base=base, socket=self.socket, user=user, children=children)
        (base / "fpm.conf").write_text(conf)

    def __enter__(self) -> Self:
        program = php_fpm()
        assert program is not None
        command = [program, "-F", "-y", str(self.base / "fpm.conf")]
        if os.getuid() == 0:
            shutil.chown(self.base, "www-data")
        with (self.base / "fpm.output").open("wb") as sink:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
        end = time.monotonic() + 15
        while not self.socket.exists() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert self.socket.exists(), (self.base / "fpm.output").read_text("latin-1")
        return self

    def __exit__(self, *_problem: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)


def copy_tree(source: Path, target: Path) -> None:
    """Copy *source* into *target*, links followed, so that the copy may belong to the server's user."""
    target.mkdir(parents=True, exist_ok=True)
    # Links to nothing are left out, which shutil.copytree finds for absolute links only.
    subprocess.run(["cp", "-rL", f"{source}/.", str(target)], check=False, capture_output=True, timeout=60)


def own(base: Path) -> None:
    """Give *base* to the server's user, if this process may."""
    if os.getuid() == 0:
        for path in (base, *base.rglob("*")):
            shutil.chown(path, "www-data", "www-data")


DIRECTORIES = "pages attic media media_attic media_meta meta cache index locks tmp log".split()
PASSWORD_HASH = "$1$abcdefgh$irWbblnpmw.5z7wgBnprh0"  # of "test"


def dokuwiki(target: Path) -> None:
    """Make a wiki below *target* with the user ``knot``, password ``test``, an administrator."""
    copy_tree(DOKUWIKI, target)
    conf = target / "conf"
    copy_tree(Path("/etc/dokuwiki"), conf)
    data = target / "data"
    copy_tree(DOKUWIKI_DATA / "data", data)
    for name in DIRECTORIES:
        (data / name).mkdir(exist_ok=True)
    preload = target / "inc/preload.php"
    preload.write_text(preload.read_text().replace("/etc/dokuwiki/", f"{conf}/"))
    (conf / "local.php").write_text(
        f"<?php\n$conf['title'] = 'Waders';\n$conf['useacl'] = 1;\n$conf['superuser'] = '@admin';\n"
        f"$conf['savedir'] = '{data}';\n$conf['authtype'] = 'authplain';\n$conf['disableactions'] = '';\n"
    )
    (conf / "local.protected.php").unlink(missing_ok=True)
    (conf / "acl.auth.php").write_text("*\t@ALL\t1\n*\t@user\t8\n*\t@admin\t16\n")
    (conf / "users.auth.php").write_text(f"knot:{PASSWORD_HASH}:Red Knot:knot@example.org:admin,user\n")
    (data / "pages/start.txt").write_text("====== Red Knot ======\n\nA wader.\n")


_SERVER = """<?php
$cfg['blowfish_secret'] = '{secret}';
$cfg['Servers'][1] = ['auth_type' => 'cookie', 'host' => 'localhost', 'socket' => '{socket}'];
"""


def phpmyadmin(target: Path, socket: Path) -> None:
    """Copy phpMyAdmin to *target*, for the database server on *socket*."""
    copy_tree(PHPMYADMIN, target)
    (target / "config.inc.php").write_text(_SERVER.format(secret="s" * 32, socket=socket))
    settings = target / "libraries/vendor_config.php"
    text = settings.read_text().replace("/etc/phpmyadmin/config.inc.php", f"{target}/config.inc.php")
    settings.write_text(text.replace("/var/lib/phpmyadmin/tmp/", f"{target}/tmp/"))
    (target / "tmp").mkdir(exist_ok=True)
