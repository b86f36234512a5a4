"""The keeper's side in the master, which starts it, and in the workers, which send it requests."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Any, Final

from whimbrel.modules.support.processes.keeper import ProcessKeeper, socket_path
from whimbrel.modules.support.processes.messages import KeeperMessages
from whimbrel.modules.support.processes.program import (
    KeeperLimits,
    ProgramClass,
    StaticProgram,
    packed_request,
)
from whimbrel.modules.support.processes.table import ProcessTable
from whimbrel.registry.programs import ProgramHost

START_TIMEOUT: Final = 10.0  # seconds in which the keeper makes its sockets
END_TIMEOUT: Final = 4.0  # seconds in which the keeper stops its processes
QUICK_DEATH: Final = 1.0  # seconds of life after which a keeper that died is not replaced at once
MAX_REPLACEMENTS: Final = 5  # keepers in a row that died quickly


class NotStarted(Exception):
    """The keeper could not be started; the text is the reason."""


class ProcessManager:
    """One keeper with its table (a SharedProgram).

    Attributes:
        table: the dynamic processes. `directory`: where the sockets are.
        initial: dynamic classes of which one process starts at once.
        context: what the module needs in its workers.
        owner: user and group of the workers, for a keeper that stays root as its programs have other users.
    """

    def __init__(
        self,
        name: str,
        limits: KeeperLimits,
        messages: Callable[[ProgramHost], KeeperMessages] = KeeperMessages,
        *,
        statics: list[StaticProgram] | None = None,
        slots: int = 0,
        parent: str = "",
        owner: tuple[int, int] | None = None,
    ) -> None:
        self.name = name
        self.limits = limits
        self.statics = statics or []
        self.directory = ""
        self.context: Any = None
        self.initial: Callable[[str], list[ProgramClass]] = lambda directory: []
        self._make_messages = messages
        self._parent = parent
        self._owner = owner
        self._pid = 0
        self._born = 0.0
        self._quick_deaths = 0
        self.table = ProcessTable(max(1, slots))

    # master ---------------------------------------------------------------------------------------
    def start(self, host: ProgramHost) -> None:
        """Start the keeper; returns when the sockets exist. Raises NotStarted."""
        self._host = host
        self._requests, self._requests_out = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._requests.setblocking(False)
        self._requests_out.setblocking(False)
        self._lifeline, self._lifeline_out = os.pipe2(os.O_CLOEXEC)
        self._fork()

    def _fork(self) -> None:
        ready, ready_out = os.pipe2(os.O_CLOEXEC)

        def work() -> None:
            keeper = ProcessKeeper(
                self.table,
                self._requests,
                self._lifeline,
                self.limits,
                self.statics,
                self._make_messages(self._host),
            )
            try:
                directory = keeper.open(self.directory, self._parent)
                if self._owner is not None:
                    os.chown(directory, *self._owner)
            except OSError as problem:
                os.write(ready_out, b"!" + os.fsencode(str(problem)))
                return
            os.write(ready_out, os.fsencode(directory))
            os.close(ready_out)
            keeper.run(self.initial(directory))

        keep = (*self.table.handles, self._requests.fileno(), self._lifeline, ready_out)
        try:
            self._pid, self._born = (
                self._host.fork(work, keep, as_root=self._owner is not None),
                time.monotonic(),
            )
        finally:
            os.close(ready_out)
        answer = _answer(ready)
        if not answer or answer.startswith(b"!"):
            self.release(at_once=True)
            raise NotStarted(os.fsdecode(answer[1:]) or "the process ended at once")
        self.directory = os.fsdecode(answer)

    def ended(self, pid: int) -> bool:
        """Replace the keeper if it is the process *pid*, which has ended."""
        if pid != self._pid:
            return False
        self._pid = 0
        for left in self.table.clear():
            _kill_group(left)
        self._quick_deaths = self._quick_deaths + 1 if time.monotonic() - self._born < QUICK_DEATH else 0
        self._host.log("error", f"the process manager {self.name} (pid {pid}) has ended, replacing it")
        if self._quick_deaths < MAX_REPLACEMENTS:
            try:
                self._fork()
            except (NotStarted, OSError) as problem:
                self._host.log("error", f"the process manager {self.name} cannot be started: {problem}")
        return True

    def release(self, *, at_once: bool) -> None:
        """See SharedProgram: the keeper ends with the last holder of its lifeline, or is ended."""
        if self._lifeline_out < 0:
            return
        os.close(self._lifeline_out)
        os.close(self._lifeline)
        self._lifeline_out = -1
        self._requests.close()
        self._requests_out.close()
        pid, self._pid = self._pid, 0
        if at_once and pid:
            _end(pid)
            for left in self.table.clear():
                _kill_group(left)
        self.table.close()

    # workers --------------------------------------------------------------------------------------
    def request_start(self, program: ProgramClass) -> None:
        """Ask the keeper for one more process of *program*; a request too many is lost."""
        try:
            self._requests_out.send(program.packed())
        except OSError:
            pass  # the keeper has enough to do; the worker asks again

    def request_variant(self, number: int, variant: str) -> None:
        """Ask the keeper for the processes of a variant of the static program *number*."""
        try:
            self._requests_out.send(packed_request(number, variant))
        except OSError:
            pass  # the keeper has enough to do; the worker asks again

    def socket_of(self, serial: int) -> str:
        """Return the path of the socket of a dynamic process."""
        return socket_path(self.directory, serial)

    def static_socket(self, program: StaticProgram) -> str:
        """Return the path of the socket of a static program."""
        return os.path.join(self.directory, program.socket_name)


def _answer(handle: int) -> bytes:
    """Return what the keeper writes before it serves; b"" if it ended."""
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    try:
        return os.read(handle, 4096) if poller.poll(START_TIMEOUT * 1000) else b""
    finally:
        os.close(handle)


def _end(pid: int) -> None:
    """End the process *pid* and wait for it."""
    until = time.monotonic() + END_TIMEOUT
    number = signal.SIGTERM
    while True:
        try:
            os.kill(pid, number)
            while time.monotonic() < until:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    return
                time.sleep(0.01)
            if number == signal.SIGKILL:
                return
        except (ProcessLookupError, ChildProcessError):
            return
        number = signal.SIGKILL
        until = time.monotonic() + 1.0


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
