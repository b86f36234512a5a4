"""A running server: started on one core, measured through /proc, stopped by its process id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.servers import Server

TICK = os.sysconf("SC_CLK_TCK")


class NotStarted(Exception):
    """The server ended, or did not listen within ten seconds; the text is its output."""


def fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third (state) on; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def family(pid: int) -> Iterator[int]:
    """Return *pid* and all its descendants."""
    parents = {int(p.name): fields(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()}
    known = [pid]
    for one in known:
        known += [child for child, stat in parents.items() if stat and int(stat[1]) == one]
    yield from known


def cores() -> tuple[int | None, int | None]:
    """Return the cores of servers and load generators; (None, None) on one core or without taskset."""
    mine = sorted(os.sched_getaffinity(0))
    return (mine[0], mine[1]) if len(mine) > 1 and shutil.which("taskset") else (None, None)


def pinned(argv: list[str], core: int | None) -> list[str]:
    """Return *argv* bound to one core, or unchanged."""
    return argv if core is None else ["taskset", "-c", str(core), *argv]


def first(pid: int) -> None:
    """Raise the priority of the session of *pid* (autogroups, sched(7)), if kernel and permissions allow it.

    Other work on the machine then costs a measurement less; all servers and load generators get the same
    priority.
    """
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("-20")


def output_of(argv: list[str], core: int | None) -> str:
    """Return the output of a load generator on *core*; raises CalledProcessError if it fails."""
    with subprocess.Popen(
        pinned(argv, core),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        first(process.pid)
        try:
            output = process.communicate()[0]
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv, output)
    return output


class Memory(NamedTuple):
    """Proportional set sizes in bytes: of all processes, and of the largest child (the worker).

    Shared pages are divided.
    """

    all: int
    worker: int

    def most(self, other: Memory) -> Memory:
        """Return the larger of each."""
        return Memory(max(self.all, other.all), max(self.worker, other.worker))


class Running:
    """Running server; a context manager."""

    def __init__(self, server: Server, core: int | None) -> None:
        self.server, self.core = server, core
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def __enter__(self) -> Running:
        argv = pinned(self.server.argv, self.core)
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        first(self.process.pid)
        end = time.monotonic() + 10
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.server.port)) == 0:
                    return self
            time.sleep(0.002)
        self.__exit__()
        assert self.process.stdout is not None
        raise NotStarted(self.process.stdout.read().decode("latin-1"))

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)
        with suppress(ProcessLookupError):  # programs behind the server
            os.killpg(self.process.pid, signal.SIGTERM)

    def cpu_seconds(self) -> float:
        """Return the CPU time of all processes so far, user and system, ended children included."""
        return sum(sum(map(int, stat[11:15])) for stat in map(fields, family(self.pid)) if stat) / TICK

    def memory(self) -> Memory:
        """Return the memory of the processes."""
        first, *others = map(proportional, family(self.pid))
        return Memory(first + sum(others), max(others, default=first))


def proportional(pid: int) -> int:
    """Return the proportional set size of one process in bytes; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)
