"""Ports for servers that are started by tests."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Final

FIRST_PORT: Final = 10_000  # five digits: the length of a port in a page is constant
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
    """Return a random port below the ephemeral range that is free on all addresses; other tests choose at the
    same time.
    """
    last = max(_clients(), FIRST_PORT + 1_000)
    while True:
        port = random.randrange(FIRST_PORT, last)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port


def free_ports(count: int) -> list[int]:
    """Return *count* different ports (see `free_port`)."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)
