"""Listening sockets."""

from __future__ import annotations

import socket
from unittest.mock import call, create_autospec

import pytest

from whimbrel.base.dialect import V24
from whimbrel.base.errors import StartError
from whimbrel.config.model import Listener
from whimbrel.server.master.sockets import bind_all, has_ipv6


# sockets ------------------------------------------------------------------------------------------
def test_a_port_in_use_is_refused_in_httpds_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StartError) as caught:
            bind_all([Listener("127.0.0.1", port)], {}, 5, V24)
    assert caught.value.lines == (
        f"(98)Address already in use: AH00072: make_sock: could not bind to address 127.0.0.1:{port}",
        "no listening sockets available, shutting down",
        "AH00015: Unable to open logs",
    )


@pytest.mark.parametrize(
    ("is_built", "problem", "expected"),
    [(False, None, False), (True, OSError(97, "x"), False), (True, None, True)],
)
def test_whether_the_system_opens_sockets_of_ipv6(
    monkeypatch: pytest.MonkeyPatch, is_built: bool, problem: OSError | None, expected: bool
) -> None:
    opened = create_autospec(socket.socket, side_effect=problem)
    monkeypatch.setattr("whimbrel.server.master.sockets._socket.has_ipv6", is_built)
    monkeypatch.setattr("whimbrel.server.master.sockets._socket.socket", opened)
    assert has_ipv6() is expected
    assert opened.mock_calls[:1] == ([call(socket.AF_INET6)] if is_built else [])


def test_sockets_are_reused_after_a_restart() -> None:
    first = bind_all([Listener("127.0.0.1", 0)], {}, 5, V24)
    again = bind_all([Listener("127.0.0.1", 0)], first, 5, V24)
    assert first == again
    for one in first.values():
        one.close()
