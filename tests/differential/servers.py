"""Programs under test, and one process of a program on a loopback port."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support import warm_server

MODULE_DIR = "/usr/lib/apache2/modules"


@dataclass(frozen=True)
class Program:
    """A program under test: *argv* takes httpd's own flags, *module_dir* is what the LoadModule
    lines name.
    """

    name: str
    argv: tuple[str, ...]
    module_dir: str

    @property
    def present(self) -> bool:
        return shutil.which(self.argv[0]) is not None


APACHE = Program("apache2", ("/usr/sbin/apache2",), MODULE_DIR)
WHIMBREL = Program(
    "whimbrel",
    (warm_server.HTTPD, "--builtin", "debian"),
    MODULE_DIR,
)


class ProgramProcess:
    """A process of *program*; a context manager that starts it, waits until it listens, and stops it.

    Attributes:
        port: its port on 127.0.0.1, which *conf* names.
        run: directory of its PidFile `pid`, and of `output`: its standard output and error.
        environment: variables beside those of this process.
        started: False if the program refused to start.
    """

    environment: Mapping[str, str] = {}

    def __init__(self, program: Program, server_root: Path, conf: Path, run: Path, port: int) -> None:
        self.program, self.server_root, self.conf, self.run = program, server_root, conf, run
        self.port, self.started = port, False

    def launch(self, seconds: float = 20) -> None:
        """Start the program; wait until it listens or has ended."""
        self.process = warm_server.start(
            [*self.program.argv, "-d", str(self.server_root), "-f", str(self.conf), "-DFOREGROUND"],
            output=self.run / "output",
            cwd=self.run,
            environment={**os.environ, **self.environment},
        )
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket() as probe:
                if (self.run / "pid").exists() and probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    self.started = True
                    break
            time.sleep(0.02)

    def __enter__(self) -> Self:
        self.launch()
        return self

    @property
    def output(self) -> str:
        """Return its standard output and error."""
        return (self.run / "output").read_text("latin-1")

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(8)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(5)
