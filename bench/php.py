"""php-fpm for a case: two workers on a Unix socket, whose CPU time is in no server's account."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Self

from bench.process import NotStarted

PAGE = "<?php header('Content-Type: text/html'); echo str_repeat('whimbrel', 128);"
LENGTH = 1024
# A front page of 55 KB as that of WordPress: a front controller, fields, pieces of a few hundred bytes.
FRONT = """<?php
header('Content-Type: text/html; charset=UTF-8');
header('Link: </index.php/wp-json/>; rel="https://api.w.org/"');
echo "<!DOCTYPE html>\\n<html lang=\\"en\\">\\n";
for ($n = 0; $n < 212; $n++) {
    $id = md5((string) $n);
    echo "<article class=\\"post-$n\\" id=\\"$id\\"><h2>";
    echo "<a href=\\"/2026/11/$id/\\">", strrev($id), '</a></h2>';
    echo '<p>', str_repeat(substr($id, 0, 7) . ' ', 10), "</p></article>\\n";
}
echo "</html>\\n";
"""
FRONT_RULES = """DirectoryIndex index.php
RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
"""
_CONF = """[global]
error_log = {root}/fpm.log
daemonize = no
[www]
user = www-data
group = www-data
listen = {root}/fpm.sock
listen.mode = 0666
listen.backlog = 511
pm = static
pm.max_children = 4
"""


def php_fpm() -> str | None:
    """Return the path of php-fpm, None if it is not installed."""
    found = sorted(Path("/usr/sbin").glob("php-fpm*"))
    return str(found[-1]) if found else None


class PhpFpm:
    """A php-fpm process; a context manager."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __enter__(self) -> Self:
        found, conf, socket = php_fpm(), self.root / "fpm.conf", self.root / "fpm.sock"
        if found is None:
            raise NotStarted("php-fpm is not installed")
        conf.write_text(_CONF.format(root=self.root))
        root = ["-R"] if os.getuid() == 0 else []
        with (self.root / "fpm.output").open("wb") as sink:
            self.process = subprocess.Popen(
                [found, "-F", *root, "-y", str(conf)], stdout=sink, stderr=sink, start_new_session=True
            )
        end = time.monotonic() + 15
        while not socket.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                raise NotStarted((self.root / "fpm.output").read_text("latin-1"))
            time.sleep(0.02)
        return self

    def __exit__(self, *_problem: object) -> None:
        self.process.terminate()
        self.process.wait(10)
