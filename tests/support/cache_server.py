"""Servers of shared object caches: memcached and Redis."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from whimbrel.testing.ports import free_port

PROGRAMS: Final[dict[str, Callable[[int], list[str]]]] = {
    "memcache": lambda port: ["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "nobody"],
    "redis": lambda port: ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
}


class CacheServer:
    """A server of memcached or Redis on a port of its own; the test is skipped where it is not installed."""

    def __init__(self, kind: str, directory: Path) -> None:
        program = PROGRAMS[kind](0)[0]
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
        self.kind, self.port, self._directory = kind, free_port(), directory
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        quiet = subprocess.DEVNULL
        command = PROGRAMS[self.kind](self.port)
        self.process = subprocess.Popen(command, cwd=self._directory, stdout=quiet, stderr=quiet)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError(f"{self.kind} does not listen")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; wait for the end after SIGTERM."""
        assert self.process is not None
        self.process.send_signal(number)
        if number is signal.SIGTERM:
            self.process.wait(10)

    def stop(self) -> None:
        """End it if it runs, even if it was stopped by SIGSTOP."""
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
