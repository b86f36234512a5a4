"""Ports for servers that are started by tests."""

from __future__ import annotations

import random
import socket
import sys
from collections import deque
from pathlib import Path
from typing import Final

FIRST_PORT: Final = 10_000  # five digits: the length of a port in a page is constant
_CHANCE: Final = random.SystemRandom()  # tests seed the common one, in several processes alike
_RESERVED: Final[deque[socket.socket]] = deque(maxlen=64)
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


def _clients() -> int:
    """Return the first ephemeral port: one used by a client a moment ago would keep a server from its port
    (ip(7)).
    """
    try:
        return int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 32_768


def free_port() -> int:
    """Return a random port below the ephemeral range that is free on all addresses.

    No other process gets it from here until this one has chosen 64 more: tests choose at the same time, and
    their servers need a moment to listen.
    """
    last = max(_clients(), FIRST_PORT + 1_000)
    while True:
        port = _CHANCE.randrange(FIRST_PORT, last)
        reservation = socket.socket(socket.AF_UNIX)
        try:
            with socket.socket() as probe:
                probe.bind(("", port))
            if (
                sys.platform == "linux"
            ):  # a name of the abstract namespace (unix(7)), which ends with the process
                reservation.bind(f"\0whimbrel-port-{port}")
        except OSError:
            reservation.close()
            continue
        _RESERVED.append(reservation)
        return port


def free_ports(count: int) -> list[int]:
    """Return *count* different ports (see `free_port`)."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)
