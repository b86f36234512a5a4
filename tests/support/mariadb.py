"""A MariaDB server with a data directory of its own on a Unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

PROGRAM = shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
INSTALL = shutil.which("mariadb-install-db", path="/usr/bin")
USER, PASSWORD = "knot", "test"
_OPTIONS = """--innodb-log-file-size=4M --innodb-buffer-pool-size=16M --innodb-flush-log-at-trx-commit=0
--skip-innodb-doublewrite --debug-no-sync""".split()
_ACCOUNT = f"""CREATE DATABASE waders;
CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO {USER}@localhost;
"""


class MariaDb:
    """A process of mariadbd with one account and the database ``waders``; a context manager."""

    def __init__(self, base: Path) -> None:
        self.base, self.socket = base / "mariadb", base / "mariadb.sock"
        self.base.mkdir()
        (self.base / "account.sql").write_text(_ACCOUNT)

    def __enter__(self) -> Self:
        assert PROGRAM is not None and INSTALL is not None
        user = ["--user=root"] if os.getuid() == 0 else []
        common = ["--no-defaults", f"--datadir={self.base}/data", *user, *_OPTIONS]
        made = subprocess.run(
            [INSTALL, *common, "--auth-root-authentication-method=normal", "--skip-test-db"],
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert made.returncode == 0, made.stdout
        command = [PROGRAM, *common, f"--socket={self.socket}", "--skip-networking"]
        command += [f"--pid-file={self.base}/pid", f"--init-file={self.base}/account.sql"]
        output = self.base / "output"
        with output.open("wb") as sink:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        end = time.monotonic() + 30
        while not self.socket.exists():
            assert self.process.poll() is None and time.monotonic() < end, output.read_text("latin-1")
            time.sleep(0.02)
        return self

    def __exit__(self, *_problem: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)

    def query(self, statement: str) -> str:
        """Return the rows of *statement* in the database, as the program mariadb prints them."""
        command = ["mariadb", "--no-defaults", "-S", str(self.socket), f"-u{USER}", f"-p{PASSWORD}", "-N"]
        run = subprocess.run(
            [*command, "waders", "-e", statement], capture_output=True, text=True, timeout=20, check=True
        )
        return run.stdout
