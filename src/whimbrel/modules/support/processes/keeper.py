"""The process that starts, watches and stops FastCGI processes for all workers of a generation.

It runs as the configured user, waits in poll(2), and ends its processes when the last worker and the master
are gone, or when the master signals it.  Its processes die with it: each gets a signal from the system then.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.base.programs import require_programs
from whimbrel.modules.support.processes.messages import KeeperMessages
from whimbrel.modules.support.processes.population import Populations
from whimbrel.modules.support.processes.program import (
    DeathReason,
    KeeperLimits,
    Launch,
    ProgramClass,
    StaticProgram,
    unpacked,
    unpacked_request,
)
from whimbrel.modules.support.processes.table import ProcessRecord, ProcessState, ProcessTable

MAX_MESSAGE: Final = 262144  # bytes of a request to start a process
BACKLOG: Final = 128  # of the socket of one dynamic process
TICK: Final = 1.0  # seconds between two looks at the table
STOP_GRACE: Final = 1.0  # seconds between SIGTERM and SIGKILL at the end
MAX_SOCKET_PATH: Final = 100  # bytes; the system's limit is 107
_PR_SET_PDEATHSIG: Final = 1
MAX_VARIANTS: Final = 64  # programs that workers have asked for
MAX_REPORT: Final = 16384  # bytes of a line from a process
REPORTED: Final = ("crit", "error", "warn", "info", "debug")  # levels of such lines
_QUICK_END: Final = 1.0  # seconds of life up to which the replacement of a static process is delayed


@dataclass(slots=True)
class RunningProcess:
    """A process of the keeper.

    Attributes:
        program, record: of a dynamic process. `static`: of a static one.
        path: of the socket of a dynamic process.
        was_signalled: it got SIGTERM.
        last_sign: the time of its last sign of life.
    """

    pid: int
    name: str
    started: float
    program: ProgramClass | None = None
    record: ProcessRecord | None = None
    static: StaticProgram | None = None
    path: str = ""
    was_signalled: bool = False
    last_sign: float = 0.0


class ProcessKeeper:
    """The keeper's loop and its processes.

    Attributes:
        directory: private directory of the sockets.
        due: static programs with the times at which a process of theirs is started.
    """

    def __init__(
        self,
        table: ProcessTable,
        requests: socket.socket,
        lifeline: int,
        limits: KeeperLimits,
        statics: list[StaticProgram],
        messages: KeeperMessages,
    ) -> None:
        self.table = table
        self.limits = limits
        self.statics = statics
        self.messages = messages
        self._requests = requests
        self._lifeline = lifeline
        self.directory = ""
        self.populations = Populations(limits)
        self.running: dict[int, RunningProcess] = {}
        self.due: list[tuple[float, StaticProgram]] = []
        self._sockets: dict[str, socket.socket] = {}
        self._reports, self._reports_out = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._reports.setblocking(False)
        self._scanned = dict.fromkeys(("idle", "busy", "error"), time.monotonic())
        self._is_ended = False
        self._set_death_signal = ctypes.CDLL(None).prctl

    # start ----------------------------------------------------------------------------------------
    def open(self, directory: str, parent: str) -> str:
        """Make the private directory, below *parent* if it can be there, and the sockets; return its path.

        A *directory* that exists is used again. Raises OSError.
        """
        self.directory = directory or _private_directory(parent)
        for program in self.statics:
            if not program.is_on_demand:
                self._add_static(program)
        return self.directory

    def _add_static(self, program: StaticProgram) -> None:
        """Listen for *program*, and let its processes start. Raises OSError."""
        path = os.path.join(self.directory, program.socket_name)
        listener = _listen(path, program.backlog)
        owner = program.owner()
        if owner is not None:
            os.chown(path, *owner)
        self._sockets[program.socket_name] = listener
        self.due += [(0.0, program)] * program.count

    def run(self, initial: list[ProgramClass]) -> None:
        """Start one process of each of *initial*; start, watch and stop until the end."""
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGCHLD, _ignore)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
            signal.signal(number, _ignore)
        poller = select.poll()
        for handle in (woken, self._lifeline, self._requests.fileno(), self._reports.fileno()):
            poller.register(handle, select.POLLIN)
        self.messages.keeper_started(os.getpid())
        try:
            for program in initial:
                self._start_dynamic(program)
            while not self._is_ended:
                self._start_due()
                wait = TICK if self.running or self.due else None
                ready = {handle for handle, _ in poller.poll(None if wait is None else wait * 1000)}
                if woken in ready:
                    _drain(woken)
                if self._lifeline in ready:
                    break
                self._reap()
                if self._requests.fileno() in ready:
                    self._serve_requests()
                if self._reports.fileno() in ready:
                    self._serve_reports()
                self._scan()
        finally:
            self.stop_all()
            self.messages.keeper_stopped(os.getpid())
            shutil.rmtree(self.directory, ignore_errors=True)

    def _on_term(self, _number: int, _frame: object) -> None:
        self._is_ended = True

    # starting -------------------------------------------------------------------------------------
    def _serve_requests(self) -> None:
        while True:
            try:
                message = self._requests.recv(MAX_MESSAGE)
            except BlockingIOError:
                return
            wanted = unpacked_request(message)
            if wanted is None:
                self._start_dynamic(unpacked(message))
            else:
                self._start_variant(*wanted)

    def _start_variant(self, number: int, name: str) -> None:
        """Start the processes of a variant, unless they were started before."""
        program = self.statics[number].variant(name)
        if program is None or program.socket_name in self._sockets:
            return
        if len(self._sockets) - len(self.statics) >= MAX_VARIANTS:
            self.messages.skipped(f"{program.name} has too many variants (max:{MAX_VARIANTS})")
            return
        try:
            self._add_static(program)
        except OSError as problem:
            self.messages.not_started(program.name, problem)

    def _serve_reports(self) -> None:
        """Write the lines that processes have sent, and note their signs of life."""
        while True:
            try:
                words = self._reports.recv(MAX_REPORT).decode("utf-8", "replace").split(" ", 2)
            except BlockingIOError:
                return
            process = self.running.get(atoi(words[0]))
            if process is not None:
                process.last_sign = time.monotonic()
            if len(words) == 3 and words[1] in REPORTED:
                self.messages.reported(words[1], to_text(words[2].encode()))

    def _start_dynamic(self, program: ProgramClass) -> None:
        reason = self.populations.refusal(program)
        if reason:
            self.messages.skipped(reason)
            return
        with self.table.locked():
            record = self.table.free_slot()
            if record is None:
                return
            record.key = program.key
            path = socket_path(self.directory, record.serial)
        try:
            listener = _listen(path, BACKLOG)
        except OSError as problem:
            self.messages.not_started(program.name, problem)
            return
        try:
            pid = self._spawn(
                Launch(list(program.command), dict(program.environment), program.directory), listener.fileno()
            )
        except (OSError, subprocess.SubprocessError) as problem:
            self.messages.not_started(program.name, problem)
            _unlink(path)
            return
        finally:
            listener.close()
        self.running[pid] = RunningProcess(
            pid, program.name, time.monotonic(), program=program, record=record, path=path
        )
        self.populations.started(program)
        self.messages.started(program.label or program.name, pid)
        with self.table.locked():
            record.pid = pid
            record.started = time.time()
            record.active = time.time()
            record.state = ProcessState.IDLE

    def _start_due(self) -> None:
        """Start the processes of static programs that are due."""
        now = time.monotonic()
        due, self.due = [each for each in self.due if each[0] <= now], [e for e in self.due if e[0] > now]
        for _when, program in due:
            listener = self._sockets[program.socket_name]
            path = os.path.join(self.directory, program.socket_name)
            try:
                launch = program.launch(path, listener.fileno(), self._reports_out.fileno())
                pid = self._spawn(launch, listener.fileno())
            except (OSError, subprocess.SubprocessError) as problem:
                self.messages.not_started(program.name, problem)
                self.due.append((now + max(1.0, program.restart_delay), program))
                continue
            self.running[pid] = RunningProcess(pid, program.name, now, static=program, last_sign=now)
            self.messages.started(program.label or program.name, pid)

    def _spawn(self, launch: Launch, handle: int) -> int:
        """Start a process in a group of its own; it gets a signal if the keeper dies."""
        require_programs()
        prctl = self._set_death_signal
        end = launch.end
        identity = launch.identity
        handles = () if launch.takes_stdin else (handle,)
        if launch.has_reports:
            handles = (*handles, self._reports_out.fileno())

        def prepare() -> None:
            prctl(_PR_SET_PDEATHSIG, end)

        process = subprocess.Popen(
            launch.command,
            stdin=handle if launch.takes_stdin else subprocess.DEVNULL,
            stdout=2,
            env=launch.environment,
            cwd=launch.directory or "/",
            pass_fds=handles,
            process_group=0,
            preexec_fn=prepare,
            user=None if identity is None else identity.user,
            group=None if identity is None else identity.group,
            extra_groups=None if identity is None else identity.groups,
            umask=launch.umask,
        )
        process.returncode = 0  # `_reap` waits for it
        return process.pid

    # ending ---------------------------------------------------------------------------------------
    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            gone = self.running.pop(pid, None)
            if gone is not None:
                self._free(gone, status)

    def _free(self, gone: RunningProcess, status: int) -> None:
        """Free what an ended process had, end what is left of its group, and replace a static one."""
        _signal_group(gone.pid, signal.SIGKILL)
        reason = DeathReason.SHUTDOWN if self._is_ended else DeathReason.KILLED_SELF
        if gone.record is not None and gone.program is not None:
            if not self._is_ended:
                is_busy = gone.record.state == ProcessState.BUSY and not gone.record.why
                reason = DeathReason.COMM_ERROR if is_busy else DeathReason(gone.record.why)
            self.populations.ended(gone.program.key)
            _unlink(gone.path)
            with self.table.locked():
                gone.record.state = ProcessState.FREE
        self.messages.ended(gone.name, gone.pid, reason, status)
        if gone.static is not None and not self._is_ended:
            now = time.monotonic()
            is_quick = now - gone.started < _QUICK_END and not (gone.static.may_end_early and not status)
            self.due.append((now + (gone.static.restart_delay if is_quick else 0.0), gone.static))

    def stop_all(self) -> None:
        """Stop all processes: SIGTERM, and SIGKILL for those that still run after `STOP_GRACE`."""
        self._is_ended = True
        graces = [
            process.static.stop_grace for process in self.running.values() if process.static is not None
        ]
        self._wait_for_end(signal.SIGTERM, max(STOP_GRACE, *graces, STOP_GRACE))
        self._wait_for_end(signal.SIGKILL, STOP_GRACE)

    def _wait_for_end(self, number: int, seconds: float) -> None:
        for pid in self.running:
            _signal_group(pid, number)
        until = time.monotonic() + seconds
        while self.running and time.monotonic() < until:
            self._reap()
            if self.running:
                time.sleep(0.01)

    # scans ----------------------------------------------------------------------------------------
    def _is_due(self, name: str, interval: float) -> bool:
        now = time.monotonic()
        if now - self._scanned[name] < interval:
            return False
        self._scanned[name] = now
        return True

    def _scan(self) -> None:
        """Look at the processes and the table, as often as the limits say."""
        self._scan_silent()
        if self._is_due("idle", self.limits.idle_scan):
            self._for_each(ProcessState.IDLE, self._scan_idle)
        self._for_each(ProcessState.BUSY, self._scan_orphaned)
        if self._is_due("busy", self.limits.busy_scan):
            self._for_each(ProcessState.BUSY, self._scan_busy)
        if self._is_due("error", self.limits.error_scan):
            count = self._for_each(ProcessState.ERROR, self._scan_error)
            if count:
                self.messages.terminated(count)

    def _scan_silent(self) -> None:
        """End static processes that have given no sign of life for too long."""
        now = time.monotonic()
        for process in self.running.values():
            limit = 0.0 if process.static is None else process.static.silence_limit
            if limit and now - process.last_sign >= limit:
                self.messages.silent(process.name, process.pid)
                process.last_sign = now
                _signal_group(process.pid, signal.SIGKILL)

    def _for_each(
        self, state: ProcessState, work: Callable[[RunningProcess, ProcessRecord, ProgramClass], bool]
    ) -> int:
        """Call *work* for each dynamic process in *state*; return how often it returned True."""
        count = 0
        for process in list(self.running.values()):
            if process.record is not None and process.program is not None and process.record.state == state:
                count += work(process, process.record, process.program)
        return count

    def _scan_idle(self, process: RunningProcess, record: ProcessRecord, program: ProgramClass) -> bool:
        """Give up a process that was idle for too long, or is too old."""
        now = time.time()
        is_idle = program.idle_timeout and now - record.active >= 1 + program.idle_timeout
        is_old = program.lifetime and now - record.started >= 1 + program.lifetime
        if not (is_idle or is_old) or not self._may_give_up(program.key):
            return False
        with self.table.locked():
            if record.state == ProcessState.IDLE:
                record.state = ProcessState.ERROR
                record.why = DeathReason.IDLE_TIMEOUT if is_idle else DeathReason.LIFETIME_EXPIRED
        return True

    def _may_give_up(self, key: int) -> bool:
        """Return True if another process of the class may be stopped, beside those that already are."""
        leaving = sum(
            1
            for process in self.running.values()
            if process.record is not None
            and process.record.key == key
            and process.record.state == ProcessState.ERROR
        )
        return self.populations.may_stop(key, leaving)

    def _scan_orphaned(self, process: RunningProcess, record: ProcessRecord, _program: ProgramClass) -> bool:
        """Give up a process whose worker is gone: nobody reads its answer."""
        owner = record.owner
        try:
            if owner:
                os.kill(owner, 0)
            return False
        except PermissionError:
            return False
        except ProcessLookupError:
            with self.table.locked():
                if record.state == ProcessState.BUSY and record.owner == owner:
                    record.state = ProcessState.ERROR
                    record.why = DeathReason.COMM_ERROR
            return True

    def _scan_busy(self, process: RunningProcess, record: ProcessRecord, program: ProgramClass) -> bool:
        """End a process that has worked on one request for too long: SIGTERM, at the next scan SIGKILL."""
        if not program.busy_timeout or time.time() - record.active < 1 + program.busy_timeout:
            return False
        is_second = record.why == DeathReason.BUSY_TIMEOUT
        record.why = DeathReason.BUSY_TIMEOUT
        _signal_group(process.pid, signal.SIGKILL if is_second else signal.SIGTERM)
        return True

    def _scan_error(self, process: RunningProcess, record: ProcessRecord, _program: ProgramClass) -> bool:
        """End a process that was given up: SIGTERM, at the next scan SIGKILL."""
        if process.was_signalled:
            self.messages.killed(process.pid)
            _signal_group(process.pid, signal.SIGKILL)
            return False
        process.was_signalled = True
        _signal_group(process.pid, signal.SIGTERM)
        return True


def socket_path(directory: str, serial: int) -> str:
    """Return the path of the socket of a dynamic process."""
    return os.path.join(directory, str(serial))


def _private_directory(parent: str) -> str:
    """Make a directory for the user alone, in *parent* if possible, else where temporary files are."""
    if parent and len(os.fsencode(parent)) < MAX_SOCKET_PATH - 30:
        try:
            return tempfile.mkdtemp(prefix="whimbrel-fastcgi-", dir=parent)
        except OSError:
            pass
    return tempfile.mkdtemp(prefix="whimbrel-fastcgi-")


def _listen(path: str, backlog: int) -> socket.socket:
    _unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        os.chmod(path, 0o700)
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    return listener


def _signal_group(pid: int, number: int) -> None:
    """Signal a process and all others of its group."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _drain(handle: int) -> None:
    try:
        while os.read(handle, 512):
            pass
    except BlockingIOError:
        pass


def _ignore(_number: int, _frame: object) -> None:
    """Ignore a signal; unlike SIG_IGN, programs do not inherit this."""
