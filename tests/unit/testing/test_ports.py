"""The ports that tests give to their servers."""

from __future__ import annotations

import random
import socket
from pathlib import Path

import pytest

from whimbrel.testing import ports


def test_they_are_free_different_and_no_client_gets_them() -> None:
    found = ports.free_ports(20)
    assert len(set(found)) == 20
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(10_000 <= port < max(lowest, 11_000) for port in found)
    for port in found:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_that_somebody_listens_on_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, other = ports.free_ports(2)
    drawn = [taken, other]
    monkeypatch.setattr(random, "randrange", lambda *_bounds: drawn.pop(0))
    with socket.create_server(("127.0.0.1", taken)):
        assert ports.free_port() == other
