"""Programs that a keeper starts: dynamic classes on request, static ones from the beginning."""

from __future__ import annotations

import json
import signal
from abc import ABC, abstractmethod
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final

NO_LIMIT: Final = 0


class DeathReason(IntEnum):
    """Why a process ends."""

    KILLED_SELF = 0
    IDLE_TIMEOUT = 1
    LIFETIME_EXPIRED = 2
    BUSY_TIMEOUT = 3
    CONNECT_ERROR = 4
    COMM_ERROR = 5
    SHUTDOWN = 6


@dataclass(frozen=True, slots=True)
class ProgramClass:
    """Processes that may serve each other's requests.

    Attributes:
        identity: what makes two classes different.
        name: the program as messages show it. `label`: the same where it starts.
        command, environment, directory: how it is started.
        most, least: number of processes; above *least* idle ones are stopped.
        idle_timeout, lifetime, busy_timeout: seconds, 0 for no limit.
        max_requests: requests that one process serves, 0 for no limit.
    """

    identity: str
    name: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    directory: str
    most: int = 100
    least: int = 3
    idle_timeout: int = 300
    lifetime: int = 3600
    busy_timeout: int = 300
    max_requests: int = NO_LIMIT
    label: str = ""

    @property
    def key(self) -> int:
        """Return the number that stands for `identity` in the table."""
        digest = blake2b(self.identity.encode("latin-1", "replace"), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1 or 1

    def packed(self) -> bytes:
        """Return the class as a message to the keeper."""
        return json.dumps([getattr(self, name) for name in _FIELDS]).encode()


_FIELDS: Final = (
    "identity",
    "name",
    "command",
    "environment",
    "directory",
    "most",
    "least",
    "idle_timeout",
    "lifetime",
    "busy_timeout",
    "max_requests",
    "label",
)


def unpacked(message: bytes) -> ProgramClass:
    """Return the class in a message of `ProgramClass.packed`."""
    values = dict(zip(_FIELDS, json.loads(message), strict=True))
    values["command"] = tuple(values["command"])
    values["environment"] = tuple((name, value) for name, value in values["environment"])
    return ProgramClass(**values)


def packed_request(number: int, variant: str) -> bytes:
    """Return the message that asks the keeper for processes of a variant of the static program *number*."""
    return b"S" + json.dumps([number, variant]).encode()


def unpacked_request(message: bytes) -> tuple[int, str] | None:
    """Return number and variant of `packed_request`; None for any other message."""
    if message[:1] != b"S":
        return None
    number, variant = json.loads(message[1:])
    return number, variant


class Identity(NamedTuple):
    """User, group and further groups of a process, as numbers."""

    user: int
    group: int
    groups: tuple[int, ...] = ()


class Launch(NamedTuple):
    """How a process is started.

    Attributes:
        command: an absolute path and its arguments. `environment`: all of it.
        takes_stdin: the listening socket is descriptor 0; otherwise it keeps its number.
        end: the signal that it gets when the keeper dies.
        has_reports: it inherits the datagram socket of `StaticProgram.launch`.
        identity: None for that of the keeper. `umask`: -1 for that of the keeper.
    """

    command: list[str]
    environment: dict[str, str]
    directory: str
    takes_stdin: bool = True
    end: int = signal.SIGKILL
    has_reports: bool = False
    identity: Identity | None = None
    umask: int = -1


class StaticProgram(ABC):
    """A program that runs from the start of the server to its end, on one socket for all of its processes.

    Attributes:
        socket_name: the file of the socket in the keeper's directory.
        name: the program as messages show it. `label`: the same where it starts.
        count: number of processes. `restart_delay`: seconds before a process that ended early is replaced.
        backlog: connections that wait.
        is_on_demand: its processes start when a worker asks for them.
        stop_grace: seconds between SIGTERM and SIGKILL at the end.
        silence_limit: seconds without a sign of life after which a process is ended, 0 for no limit.
        may_end_early: a process that ends in good order is replaced at once, however short its life was.
    """

    socket_name: str
    name: str
    label: str = ""
    count: int = 1
    restart_delay: float = 1.0
    backlog: int = 4096
    is_on_demand: bool = False
    stop_grace: float = 1.0
    silence_limit: float = 0.0
    may_end_early: bool = False

    def variant(self, _name: str) -> StaticProgram | None:
        """Return the program that serves *name* in place of this one; None if there are no variants."""
        return None

    def owner(self) -> tuple[int, int] | None:
        """Return user and group that own the socket; None for those of the keeper."""
        return None

    @abstractmethod
    def launch(self, path: str, handle: int, reports: int) -> Launch:
        """Return how a process is started that listens on *handle*, the socket at *path*.

        It may send lines for the log, and signs of life, to the datagram socket *reports*.
        """


@dataclass(frozen=True, slots=True)
class KeeperLimits:
    """Limits for all classes together, and seconds between two scans (names of mod_fcgid).

    Attributes:
        most: number of dynamic processes.
        spawn_score, termination_score, time_score, score_limit: see `Population`.
        idle_scan, busy_scan, error_scan, zombie_scan: seconds between two scans.
    """

    most: int = 1000
    spawn_score: int = 1
    termination_score: int = 2
    time_score: int = 1
    score_limit: int = 10
    idle_scan: float = 120.0
    busy_scan: float = 120.0
    error_scan: float = 3.0
    zombie_scan: float = 3.0
