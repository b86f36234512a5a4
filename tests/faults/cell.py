"""A cell of the table: one fault under one load on one program, and what clients, logs and processes show."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.disk import Disk
from tests.faults.interposer import Interposer
from tests.faults.loads import CLIENTS, Client, Load, Sample, State
from tests.faults.plan import LOG_PROGRAM, Fault
from tests.faults.site import CONF, HUNG_NAME, PADDING, TLS, BackEnd, lay_out, write_certificate
from tests.faults.wires import Http1Wire, Http2Wire, Request, Wire
from tests.hostile.server import HostileSite, Program, ServerProcess

WARM = 1.0  # seconds of load before the fault
CALM = 1.0  # seconds of right responses that end a cell
RECOVERY = 5.0  # seconds until the service must be complete again
SETTLED = 5.0  # seconds for log lines and descriptors after the load
SPARE_DESCRIPTORS = 16  # that a worker may hold more than before: files, connections to back ends
PROCESSES = 2
_ACCESS = re.compile(r'"(\S+ \S+) \S+" (\d+) .*"([^"]*)"$')
_WIDE = re.compile(r'^x+ "(\S+ \S+) \S+" (\d+) "([^"]*)"$')


@dataclass
class Observation:
    """What one cell showed.

    Attributes:
        outcomes: number of responses by `right`, the status of an error, `wrong`, and failures of the wire.
        recovery: seconds from the end of the fault until all responses were right; None: they never were.
        slowest: seconds of the slowest response.
        lost: complete responses without a line in the access log. `repeated`: lines without a request.
        tracebacks: unhandled exceptions in the log.
        processes: left when the server has ended, or when its master was killed.
        descriptors: that a worker holds more than before the fault.
        examples: details of what is not right.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    recovery: float | None = None
    slowest: float = 0.0
    lost: int = 0
    repeated: int = 0
    tracebacks: int = 0
    processes: int = 0
    descriptors: int = 0
    killed: int = 0
    hits: int = 0
    examples: list[str] = field(default_factory=list)


class Scene:
    """A running cell, as its fault sees it."""

    def __init__(self, program: Program, fault: Fault, load: Load, seconds: float, back_end: BackEnd) -> None:
        self.fault = fault
        self.load = load
        self.seconds = seconds
        self.back_end = back_end
        self.state = State()
        self.observation = Observation()
        root = "%ROOT%"
        conf = CONF.format(
            disk=f"{root}/disk", padding=PADDING, name=HUNG_NAME, back_end=back_end.server_address[1]
        )
        conf += fault.conf.format(root=root) + (TLS.format(root=root) if load.is_encrypted else "")
        self.server = ServerProcess(program, HostileSite(conf, processes=PROCESSES))
        self.disk = Disk(self.server.root / "disk")
        self.log_disk = Disk(self.server.logs)
        self.clients = [Client(load, self.server.port, self.state, number) for number in range(CLIENTS)]
        self.break_time = 0.0
        self.heal_time = 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Mount the disks, start the server; at the end leave nothing of either."""
        try:
            with self.disk, self.log_disk:
                lay_out(self.disk.place)
                write_certificate(self.server.root)
                logger = self.server.root / "logger.sh"
                logger.write_text(f"#!/bin/sh\nexec cat >> {self.server.logs}/piped\n")
                logger.chmod(0o755)
                self.interposer = Interposer(self.server.root / "control", self.disk.place, HUNG_NAME)
                self.server.program = Program(
                    self.server.program.name,
                    ("/usr/bin/env", *self.interposer.environment, *self.server.program.argv),
                )
                try:
                    with self.server:
                        yield
                        self._stop()
                finally:
                    self.state.is_over.set()
                    self._resume_clients()
                    self.end_processes()
        finally:
            shutil.rmtree(self.server.root, ignore_errors=True)

    def _stop(self) -> None:
        """Stop the server and judge what it leaves, before its directory goes."""
        self.server.process.terminate()
        with contextlib.suppress(Exception):
            self.server.process.wait(10)
        end = time.monotonic() + 3
        while self.processes() and time.monotonic() < end:
            time.sleep(0.02)
        self.observation.processes += len(self.processes())
        self._read_logs()

    # what faults use --------------------------------------------------------------------------
    def wait(self) -> None:
        """Let the fault last for the time of the cell."""
        time.sleep(self.seconds)

    def moments(self, pause: float) -> Iterator[int]:
        """Yield numbers, one every *pause* seconds, for the time of the cell."""
        end = time.monotonic() + self.seconds
        number = 0
        while time.monotonic() < end:
            yield number
            number += 1
            time.sleep(pause)

    def kill(self, pid: int) -> None:
        """Kill a process of the server."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.observation.killed += 1

    def processes(self, name: bytes = b"") -> list[int]:
        """Return the processes of the server's session, except its master; those with *name* alone."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                pid, _, rest = path.read_bytes().partition(b" (")
                comm, _, fields = rest.rpartition(b") ")
                state, _, _, session = fields.split()[:4]
                is_alive = state != b"Z" and int(pid) != self.server.process.pid
                if int(session) == self.server.process.pid and is_alive and name in comm:
                    found.append(int(pid))
        return found

    def end_processes(self) -> None:
        """Kill what is left of the server's session; the number is a part of the observation."""
        found = self.processes()
        self.observation.processes += len(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while self.processes():
            time.sleep(0.01)

    @contextlib.contextmanager
    def without_clients(self) -> Iterator[None]:
        """Let all clients close their connections meanwhile."""
        self._pause_clients()
        try:
            yield
        finally:
            self._resume_clients()

    @contextlib.contextmanager
    def more_clients(self, target: str, count: int) -> Iterator[None]:
        """Let *count* clients request *target* meanwhile; their responses are not judged."""
        wire_type: Callable[[int, str], Wire] = Http2Wire if self.load.is_encrypted else Http1Wire
        over = threading.Event()

        def request_often(number: int) -> None:
            wire = wire_type(self.server.port, f"more-{number}")
            while not over.is_set():
                wire.exchange([Request("GET", target)])
                over.wait(0.05)
            wire.close()

        threads = [threading.Thread(target=request_often, args=(n,), daemon=True) for n in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()

    def wait_for_restart(self) -> None:
        """Wait until the workers of the last reload alone are left."""
        end = time.monotonic() + 5
        while len(self.server.workers()) > PROCESSES and time.monotonic() < end:
            time.sleep(0.02)

    # a cell -----------------------------------------------------------------------------------
    def observe(self) -> Observation:
        """Run the cell: load, fault, recovery, end."""
        found = self.observation
        with self.running():
            for client in self.clients:
                client.start()
            time.sleep(WARM)
            self._pause_clients()
            before = self._descriptors()
            self._resume_clients()
            self.break_time = time.monotonic()
            self.state.may = self.fault.may
            self.fault.run(self)
            self.heal_time = time.monotonic()
            self._recover()
            self.state.may = frozenset()
            self._pause_clients()
            self._settle(before)
            self.state.is_over.set()
            self._resume_clients()
            for client in self.clients:
                client.join(30)
            found.hits += self.interposer.hits
            self._count()
        return found

    def _pause_clients(self) -> None:
        """Let all clients close their connections."""
        for client in self.clients:
            client.may_run.clear()
        for client in self.clients:
            client.is_paused.wait(30)
        time.sleep(0.1)

    def _resume_clients(self) -> None:
        for client in self.clients:
            client.may_run.set()

    def _recover(self) -> None:
        """Wait until all responses have been right for a moment, at most for `RECOVERY` and this moment."""
        limit = self.heal_time + RECOVERY + CALM
        while time.monotonic() < limit:
            time.sleep(0.05)
            last = max([s.end for s in self._bad_samples()] + [self.heal_time])
            if time.monotonic() - last > CALM:
                break

    def _bad_samples(self) -> list[Sample]:
        """Return samples that were not right, or began before the end of the fault."""
        return [s for client in self.clients for s in list(client.samples) if s.outcome != "right"]

    def _count(self) -> None:
        found = self.observation
        counts: Counter[str] = Counter()
        for client in self.clients:
            for sample in client.samples:
                found.slowest = max(found.slowest, sample.end - sample.begin)
                counts[str(sample.status) if sample.outcome == "error" else sample.outcome] += 1
                if sample.outcome not in {"right", "error", *self.fault.failures}:
                    since = sample.begin - self.break_time
                    found.examples.append(f"{since:.2f} s: {sample.outcome}: {sample.what}")
        found.outcomes = dict(sorted(counts.items()))
        late = [s.end - self.heal_time for s in self._bad_samples()]
        last = max([0.0, *late])
        found.recovery = round(last, 2) if last < RECOVERY else None

    def _descriptors(self) -> int:
        return max((len(os.listdir(f"/proc/{pid}/fd")) for pid in self.server.workers()), default=0)

    def _settle(self, before: int) -> None:
        end = time.monotonic() + SETTLED
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.observation.descriptors = max(self._descriptors() - before, 0)
                if self.observation.descriptors <= SPARE_DESCRIPTORS:
                    return
            time.sleep(0.05)

    def _read_logs(self) -> None:
        found = self.observation
        received: Counter[tuple[str, str, int]] = Counter()
        sent: Counter[tuple[str, str]] = Counter()
        for client in self.clients:
            received += client.received
            sent += client.sent
        logs = [("access_log", _ACCESS)] + ([("piped", _WIDE)] if self.fault.conf == LOG_PROGRAM else [])
        for name, pattern in logs:
            lines = _lines(self.server.logs / name, pattern)
            found.lost += sum((received - lines).values())
            of_request: Counter[tuple[str, str]] = Counter()
            for (agent, line, _), count in lines.items():
                of_request[agent, line] += count
            extra = of_request - sent
            found.repeated += sum(extra.values())
            found.examples += [f"{name} lacks {key}: {n}" for key, n in list((received - lines).items())[:3]]
            found.examples += [f"{name} has {key}: {n} more" for key, n in list(extra.items())[:3]]
        found.tracebacks = self.server.output.count("Traceback (most recent call last)")
        if found.tracebacks:
            found.examples += traceback_ends(self.server.output)[:3]


def _lines(path: Path, pattern: re.Pattern[str]) -> Counter[tuple[str, str, int]]:
    """Return the numbers of lines of an access log by agent, request and status."""
    counts: Counter[tuple[str, str, int]] = Counter()
    if not path.exists():
        return counts
    for line in path.read_text("latin-1").splitlines():
        match = pattern.search(line)
        if match is not None and match[3].startswith("client-"):
            counts[match[3], match[1], int(match[2])] += 1
    return counts


def traceback_ends(text: str) -> list[str]:
    """Return the last lines of the tracebacks in a log, where a traceback is one line with escapes."""
    found = []
    for block in text.replace("\\n", "\n").split("Traceback (most recent call last)")[1:]:
        lines = block.splitlines()[1:]
        last = next((n for n, line in enumerate(lines) if not line.startswith(" ")), 0)
        found.append(" | ".join(line.strip() for line in lines[max(last - 3, 0) : last + 1]))
    return found


def failures(fault: Fault, load: Load, found: Observation) -> list[str]:
    """Return what breaks the promise of *fault* under *load*, a line each."""
    lines = []
    outcomes = found.outcomes
    if not outcomes.get("right"):
        lines.append("no right response")
    for name in ("wrong", "reset", "refused", "unanswered"):
        if outcomes.get(name) and name not in fault.failures:
            lines.append(f"{outcomes[name]} responses: {name}")
    if found.lost > (max(found.killed, 1) * load.in_flight if fault.loses_lines else 0):
        lines.append(f"{found.lost} lines lost")
    if found.slowest > fault.longest and not outcomes.get("unanswered"):
        lines.append(f"a response took {found.slowest:.1f} seconds")
    if found.repeated:
        lines.append(f"{found.repeated} lines without a request")
    if found.tracebacks:
        lines.append(f"{found.tracebacks} tracebacks")
    if found.processes:
        lines.append(f"{found.processes} processes left")
    if found.descriptors > SPARE_DESCRIPTORS:
        lines.append(f"{found.descriptors} descriptors more")
    if found.recovery is None:
        lines.append(f"not complete after {RECOVERY:.0f} s")
    if load.name in fault.hits and not found.hits:
        lines.append("the fault hit nothing")
    return lines
