"""A runtime for engines that answer probes: it connects to nothing, starts nothing and writes no log."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from whimbrel.engine.inline_runtime import InlineRuntime
from whimbrel.engine.runtime import Address, P, PeriodicWork
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.verify.password_checks import PasswordChecks


class _NoWork:
    """Periodic work that never runs."""

    def cancel(self) -> None: ...


class ProbeRuntime(InlineRuntime):
    """A Runtime without an outside world.

    Attributes:
        names: host names by client address, confirmed in both directions.
        time: the time of all probes, seconds since the epoch.
        backends: the addresses that the last probe wanted to connect to.
        passwords: the checks of passwords.
    """

    def __init__(self, now: float | None = None) -> None:
        super().__init__()
        self.time = time.time() if now is None else now
        self.names: dict[str, str] = {}
        self.backends: list[Address] = []
        self.rewriting: list[Any] = []
        self.passwords = PasswordChecks()

    def now(self) -> float:
        """Return `time`."""
        return self.time

    async def check_password(self, password: str, stored: str) -> bool:
        """Return True if *password* matches, False too if the check takes too long."""
        return self.passwords.is_right(password, stored) is True

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
