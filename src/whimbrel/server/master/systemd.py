"""Notifications to a service manager (sd_notify) and the listening sockets that it passes on (sd_listen_fds).

sd_notify(3) is one datagram of ``NAME=value`` lines to the socket in NOTIFY_SOCKET. sd_listen_fds(3) are
LISTEN_FDS descriptors from 3 on, if LISTEN_PID is this process. Both need mod_systemd and the variables.
Manual: mod/mod_systemd.html.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

from whimbrel.base.numbers import is_digits
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from whimbrel.server.worker.scoreboard import ServerInfo, SharedScoreboard  # imports asyncio

FIRST_SOCKET: Final = 3
STATUS_EVERY: Final = 10.0  # seconds between two status lines
PROCESSING: Final = "Processing requests..."


class Notifier:
    """Notifies the service manager; *active*: with mod_systemd and a manager in *environment*."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        mine = environment.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
        usec = environment.get("WATCHDOG_USEC", "")
        self._watchdog = int(usec) / 2e6 if mine and is_digits(usec) and int(usec) > 0 else 0.0
        self.active = False
        self._statistics = float("inf")
        self._alive = float("inf")
        self._last = 0

    def enable(self, loaded: bool) -> None:
        """Record whether the configuration loads mod_systemd; called with each configuration."""
        self.active = loaded and bool(self._address)

    def say(self, *lines: str) -> None:
        """Send lines; an unreachable manager is ignored."""
        if not self.active:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
                sock.setblocking(False)
                sock.sendto("\n".join(lines).encode(), address)
        except OSError:
            pass

    # events -------------------------------------------------------------------------------------
    def ready(self) -> None:
        """Notify that the workers run."""
        now = time.monotonic()
        self._statistics = now + STATUS_EVERY
        self._alive = now
        self.say("READY=1", f"STATUS={PROCESSING}", f"MAINPID={os.getpid()}")

    def reloading(self) -> None:
        """Notify that the configuration is read again."""
        self.say(
            "RELOADING=1",
            f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}",
            "STATUS=Reading configuration...",
        )

    def stopping(self) -> None:
        """Notify, once, that the server ends."""
        self.say("STOPPING=1", "STATUS=Stopping...")
        self.active = False

    def due(self) -> float | None:
        """Return the time of the next `tick` (monotonic), None without one."""
        if not self.active:
            return None
        return min(self._statistics, self._alive if self._watchdog else self._statistics)

    def tick(self, board: SharedScoreboard, life: ServerInfo, *, extended: bool) -> None:
        """Send the status line when it is due."""
        now = time.monotonic()
        if self.active and self._watchdog and now >= self._alive:
            self._alive = now + self._watchdog
            self.say("WATCHDOG=1")
        if self.active and now >= self._statistics:
            self._statistics = now + STATUS_EVERY
            self.say("READY=1", f"STATUS={statistics(board, life) if extended else PROCESSING}")


def statistics(board: SharedScoreboard, life: ServerInfo) -> str:
    """Return the statistics of all workers in one line."""
    every: list[dict[str, Any]] = [value for _slot, value in board.slots_in_use()]
    accesses = sum(v["accesses"] for v in every)
    sent = sum(v["bytes"] for v in every)
    states = "".join(v["process"]["workers"] for v in every)
    seconds = max(1.0, time.time() - life.started)
    idle = states.count("_")
    return (
        f"Total requests: {accesses}; "
        f"Idle/Busy workers {_share(idle, len(states))}/{_share(len(states) - idle, len(states))};"
        f"Requests/sec: {accesses / seconds:.3g}; Bytes served/sec: {_short(sent / seconds)}B/sec"
    )


def _share(part: int, total: int) -> int:
    return part * 100 // total if total else 0


def _short(count: float) -> str:
    """Format a number in four characters: `` 12``, ``1.5K``, `` 20M``."""
    if count < 973:
        return f"{int(count):3d} "
    for unit in "KMGTPE":
        count /= 1024
        if count < 9.95:
            return f"{count:.1f}{unit}"
        if count < 973:
            return f"{count:3.0f}{unit}"
    return "****"


def listen_fds(environment: Mapping[str, str]) -> dict[tuple[str, int], socket.socket]:
    """Return the listening TCP sockets of the service manager by address ("" for any) and port."""
    number = environment.get("LISTEN_FDS", "")
    if environment.get("LISTEN_PID") != str(os.getpid()) or not is_digits(number):
        return {}
    out: dict[tuple[str, int], socket.socket] = {}
    for handle in range(FIRST_SOCKET, FIRST_SOCKET + int(number)):
        try:
            sock = socket.socket(fileno=handle)
            if sock.family not in (socket.AF_INET, socket.AF_INET6) or not sock.getsockopt(
                socket.SOL_SOCKET, socket.SO_ACCEPTCONN
            ):
                sock.detach()
                continue
        except OSError:
            continue
        sock.setblocking(False)
        os.set_inheritable(handle, False)
        address, port = sock.getsockname()[:2]
        out["" if address in ("::", "0.0.0.0") else address, port] = sock
    return out
