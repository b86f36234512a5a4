"""The ports that tests give to their servers."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from whimbrel.testing import ports


def free_after(port: int) -> int:
    """Return the next port after *port* on which a server can listen."""
    while True:
        port += 1
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


def test_they_are_free_different_and_no_client_gets_them() -> None:
    found = ports.free_ports(20)
    assert len(set(found)) == 20
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(10_000 <= port < max(lowest, 11_000) for port in found)
    for port in found:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_that_somebody_listens_on_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = ports.free_port()
    other = free_after(taken)
    drawn = [taken, other]
    monkeypatch.setattr(ports._CHANCE, "randrange", lambda *_bounds: drawn.pop(0))
    with socket.create_server(("127.0.0.1", taken)):
        assert ports.free_port() == other


@pytest.mark.skipif(sys.platform != "linux", reason="there are no abstract names of sockets")
def test_a_port_that_another_process_has_chosen_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = ports.free_port()
    other = free_after(chosen)
    drawn = [chosen, other]
    monkeypatch.setattr(ports._CHANCE, "randrange", lambda *_bounds: drawn.pop(0))
    assert ports.free_port() == other
