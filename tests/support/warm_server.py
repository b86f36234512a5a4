"""Servers of the package in forks of a process that has imported them: half of the processor time of a start.

`start` is called in place of `subprocess.Popen`. The fork leads a session, has arguments, directory,
environment and output of its own, and starts, forks, logs and stops as a program does. A test of the start
itself, of the command line or of memory uses `subprocess`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing import forkserver, popen_forkserver, spawn
from pathlib import Path
from typing import Any, Final
from unittest import mock

ROOT: Final = Path(__file__).resolve().parents[2]
HTTPD: Final = str(Path(sys.executable).with_name("whimbrel-httpd"))
IN_C: Final = ("LD_", "PYTHON", "MALLOC_")
"""Prefixes of variables that are read when a process starts, before Python code runs."""
_LOCK = threading.Lock()


@cache
def _forks() -> forkserver.ForkServer:
    """The process that forks servers; the one of `warm_command` has imported too much."""
    found = forkserver.ForkServer()
    found.set_forkserver_preload(["tests.support.warm_imports"])
    with contextlib.chdir(ROOT):  # where it finds this package
        found.ensure_running()
    return found


def _preparation(name: str) -> dict[str, Any]:
    """Return what a fork sets up: nothing of the program that has started it."""
    return {"name": name, "sys_path": sys.path}


class _ForkedServer(multiprocessing.context.ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with (
            _LOCK,
            mock.patch.object(forkserver, "connect_to_new_process", _forks().connect_to_new_process),
            mock.patch.object(spawn, "get_preparation_data", _preparation),
        ):
            return popen_forkserver.Popen(process_obj)


class WarmServer:
    """A running fork, with what the tests use of `subprocess.Popen`.

    Attributes:
        args: its arguments. `pid`: its process ID, which is that of its session, too.
    """

    def __init__(self, words: Sequence[str], output: str, cwd: str, environment: Mapping[str, str]) -> None:
        self.args = list(words)
        arguments = (self.args, output, cwd, dict(environment))
        self._process = _ForkedServer(target=_serve, args=arguments, daemon=True)
        self._process.start()
        self.pid = int(self._process.pid or 0)

    @property
    def returncode(self) -> int | None:
        """Exit status, a negative number for a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return `returncode`."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raise subprocess.TimeoutExpired if it runs on."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def start(
    words: Sequence[str],
    *,
    output: Path | str,
    cwd: Path | str,
    environment: Mapping[str, str] | None = None,
) -> WarmServer | subprocess.Popen[bytes]:
    """Start a server whose standard output and error go to the file *output*.

    One of this package (its first word is `HTTPD`) is a fork. Any other program is started, and one whose
    environment acts before Python does.
    """
    values = dict(os.environ if environment is None else environment)
    differing = {name for name, value in values.items() if os.environ.get(name) != value}
    if words[0] == HTTPD and not any(name.startswith(IN_C) for name in differing):
        Path(output).write_bytes(b"")
        return WarmServer(words, str(output), str(cwd), values)
    with open(output, "wb") as sink:
        return subprocess.Popen(
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            cwd=cwd,
            env=values,
            start_new_session=True,
        )


def _serve(words: list[str], output: str, cwd: str, environment: dict[str, str]) -> None:
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sink = os.open(output, os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, handle in enumerate((nothing, sink, sink)):
        os.dup2(handle, number)
    os.close(sink)
    os.close(nothing)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.argv = words
    from whimbrel.cli.httpd import main

    main()
