"""A running server: started on one core, its CPU time and memory read from /proc, stopped by its own process id."""

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
    """The server ended, or did not listen within ten seconds; the text is what it printed."""


def fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third (state) on; empty when there is no such process any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def family(pid: int) -> Iterator[int]:
    """*pid* and all its descendants."""
    parents = {int(p.name): fields(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()}
    known = [pid]
    for one in known:
        known += [child for child, stat in parents.items() if stat and int(stat[1]) == one]
    yield from known


def cores() -> tuple[int | None, int | None]:
    """The core of the servers and that of the load generator; (None, None) where there is only one, or no taskset."""
    mine = sorted(os.sched_getaffinity(0))
    return (mine[0], mine[1]) if len(mine) > 1 and shutil.which("taskset") else (None, None)


def pinned(argv: list[str], core: int | None) -> list[str]:
    """*argv* bound to one core, or as it is."""
    return argv if core is None else ["taskset", "-c", str(core), *argv]


def first(pid: int) -> None:
    """Let the session of *pid* go before other sessions (autogroups, sched(7)), where the kernel groups them and this process may say so.

    What else the machine does then costs a measurement less; all servers and load generators are treated alike.
    """
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("-20")


def output_of(argv: list[str], core: int | None) -> str:
    """What a load generator prints that runs on *core*; raises CalledProcessError when it fails."""
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
    """Proportional set sizes in bytes (shared pages count once among those that share them): of all processes, and of the largest one that
    the first has started, the worker."""

    all: int
    worker: int

    def most(self, other: Memory) -> Memory:
        """The larger of each."""
        return Memory(max(self.all, other.all), max(self.worker, other.worker))


class Running:
    """A server between start and stop; a context manager."""

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

    def cpu_seconds(self) -> float:
        """CPU time so far of all processes, user and system, children that have ended included."""
        return sum(sum(map(int, stat[11:15])) for stat in map(fields, family(self.pid)) if stat) / TICK

    def memory(self) -> Memory:
        """What the processes take."""
        first, *others = map(proportional, family(self.pid))
        return Memory(first + sum(others), max(others, default=first))


def proportional(pid: int) -> int:
    """The proportional set size of one process in bytes; 0 when it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)
