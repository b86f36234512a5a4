"""The runtime that an engine needs: implemented by server/, and by testing/ in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from mmap import mmap
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whimbrel.config.model import LogSink

if TYPE_CHECKING:
    from whimbrel.engine.tls import BackendTlsParameters

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.BaseProtocol)
# host and port, or the path of a Unix socket
Address = tuple[str, int] | str
PasswordCheck = Callable[[str, str], bool]
"""Whether a password matches a stored hash."""


class ScoreboardRow(dict[str, Any]):
    """A row that is one object while its contents are the same; *shown*: mod_status's text of it."""

    shown: Any = None


class ScoreboardWorker:
    """The rows of one worker; the same object as long as its contents are.

    Attributes:
        rows: the rows of its connections.
        common: values common to them; None if the rows are complete.
        process: values of the process (see `scoreboard_text`); None if there are none.
        idle, waiting: number and state of further rows, which are those of idle threads.
        letters: the states of all rows.
        shown: what mod_status built of it, by the purpose.
    """

    __slots__ = ("common", "idle", "letters", "process", "rows", "shown", "waiting")

    def __init__(
        self,
        rows: list[Any],
        common: dict[str, Any] | None = None,
        process: dict[str, Any] | None = None,
        idle: int = 0,
        waiting: str = "_",
        letters: str = "",
    ) -> None:
        self.rows = rows
        self.common = common
        self.process = process
        self.idle = idle
        self.waiting = waiting
        self.letters = letters or "".join([row.get("state", "_") for row in rows]) + waiting * idle
        self.shown: dict[Any, Any] = {}


class Scoreboard(Protocol):
    """The states of the workers, for mod_status; rows are dictionaries."""

    def workers(self) -> list[ScoreboardWorker]: ...

    def totals(self) -> dict[str, Any]: ...


class NoScoreboard:
    """An empty scoreboard: for tests and tools, and for a worker before it has its own."""

    def workers(self) -> list[ScoreboardWorker]:
        """No worker."""
        return []

    def totals(self) -> dict[str, Any]:
        """No sums."""
        return {}


class Runtime(Protocol):
    """The outside world of one engine."""

    pid: int
    tid: int
    slot: int  # number of the worker among those that run at the same time, below `slots`
    slots: int
    scoreboard: Scoreboard
    filter_slots: asyncio.Semaphore  # taken while a filter has a large body in memory, so that few have one

    def now(self) -> float:
        """Return the time in seconds since the epoch."""

    def load_average(self) -> tuple[float, float, float]:
        """Return the load of the machine in 1, 5 and 15 minutes."""

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Append *data* (whole lines) to a log; never raises."""

    def log_appender(self, sink: LogSink) -> Callable[[bytes], None]:
        """Return a function that appends whole lines to an open log in ticks that already wrote there."""

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run blocking *work* beside the event loop."""

    async def in_script_thread(
        self, work: Callable[[], T], abandon: Callable[[], object], *, is_input: bool = False
    ) -> T:
        """Run a script, which may never end, beside the event loop and beside the threads of `in_thread`.

        A cancellation calls *abandon*, after which the script should end. *is_input*: it reads for another
        script, which waits for it in its own thread.
        """

    async def check_password(self, check: PasswordCheck, password: str, stored: str) -> bool:
        """Return what *check* says of *password* and the hash *stored*, whose cost its author chose."""

    async def compute(self, work: Callable[[], T]) -> T:
        """Run *work* that keeps a core busy and releases the GIL beside the event loop."""

    async def search(self, work: Callable[[], T]) -> T:
        """Run a long search of a pattern, which releases the GIL, beside the event loop.

        A cancellation leaves the search to its end, which the limit of its steps brings.
        """

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the host name of an IP address (reverse lookup), or None."""

    async def resolve(self, name: str) -> list[str]:
        """The IP addresses of a host name."""

    async def connect(
        self,
        make: Callable[[], P],
        address: Address,
        *,
        timeout: float,
        source: str = "",
        tls: BackendTlsParameters | None = None,
    ) -> P:
        """Return a protocol of *make* that is connected to *address*, an IP address with its port or a path.

        *source* is the local IP address to connect from. With *tls* the handshake is complete.

        Raises:
            OSError: the connection was refused; TimeoutError after *timeout* seconds; ssl.SSLError, an
                OSError: the handshake failed.
        """

    def every(
        self, name: str, seconds: float, work: Callable[[], Awaitable[None]], *, once: bool = True
    ) -> PeriodicWork:
        """Run *work* every *seconds* in this worker; with *once* in one worker only, another if that ends.

        Work with *once* ends when a graceful restart retires this worker.

        Errors of *work* are logged. *name* identifies the work among all workers.
        """

    def segment(self, name: str) -> mmap:
        """Return the memory of that name, which all workers share (`Module.shared`)."""

    def program(self, name: str) -> Any:
        """Return the program of that name, which all workers share; None without one."""


class PeriodicWork(Protocol):
    """Work of `Runtime.every`."""

    def cancel(self) -> object:
        """Run it no more."""
