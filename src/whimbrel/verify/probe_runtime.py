"""A runtime for engines that answer probes: it connects to nothing, starts nothing and writes no log."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from whimbrel.engine.inline_runtime import InlineRuntime
from whimbrel.engine.runtime import Address, P, PasswordCheck, PeriodicWork
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.verify.password_checks import PasswordChecks

MAX_TEXT: Final = 4 << 20
"""Characters of the steps of rewriting of one request."""
_SIZE: Final = 256
"""Characters that a step counts beside its text."""


class _NoWork:
    """Periodic work that never runs."""

    def cancel(self) -> None: ...


class Steps(list[Any]):
    """The first steps of rewriting of one request, with at most `MAX_TEXT` characters: a rule may repeat
    itself, and make the text longer each time.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        super().__init__()
        self._left = MAX_TEXT

    def append(self, step: Any) -> None:
        """Keep *step* if there is room."""
        if self._left > 0:
            self._left -= _SIZE + len(step.subject)
            super().append(step)


class ProbeRuntime(InlineRuntime):
    """A Runtime without an outside world.

    Attributes:
        names: host names by client address, confirmed in both directions.
        time: the time of all probes, seconds since the epoch.
        backends: the addresses that the last probe wanted to connect to.
        rewriting: the steps of rewriting of the present request, None where nobody asks for them.
        passwords: the checks of passwords.
    """

    def __init__(self, now: float | None = None) -> None:
        super().__init__()
        self.time = time.time() if now is None else now
        self.names: dict[str, str] = {}
        self.backends: list[Address] = []
        self.rewriting: Steps | None = Steps()
        self.passwords = PasswordChecks()

    def begin(self, client: str, client_host: str, *, is_traced: bool) -> None:
        """Begin a request of *client*, whose name is *client_host* ("" for none)."""
        self.names = {client: client_host} if client_host else {}
        self.backends = []
        self.rewriting = Steps() if is_traced else None

    @property
    def steps(self) -> tuple[Any, ...]:
        """The steps of rewriting of the last request."""
        return tuple(self.rewriting or ())

    def now(self) -> float:
        """Return `time`."""
        return self.time

    def load_average(self) -> tuple[float, float, float]:
        """Return no load: that of this machine would tell equal answers apart."""
        return 0.0, 0.0, 0.0

    async def check_password(self, check: PasswordCheck, password: str, stored: str) -> bool:
        """Return True if *password* matches, False too if the check takes too long."""
        return self.passwords.is_right(check, password, stored) is True

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the name in `names`."""
        return self.names.get(address)

    async def resolve(self, name: str) -> list[str]:
        """Return the addresses that have *name*."""
        return [address for address, known in self.names.items() if known.lower() == name.lower()]

    async def connect(
        self,
        make: Callable[[], P],
        address: Address,
        *,
        timeout: float,
        source: str = "",
        tls: BackendTlsParameters | None = None,
    ) -> P:
        """Note *address* and refuse the connection."""
        self.backends.append(address)
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))

    def every(
        self, name: str, seconds: float, work: Callable[[], Awaitable[None]], *, once: bool = True
    ) -> PeriodicWork:
        """Run nothing."""
        return _NoWork()

    def program(self, name: str) -> Any:
        """There are no programs."""
        return None
