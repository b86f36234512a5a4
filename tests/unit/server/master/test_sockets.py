"""Listening sockets."""

from __future__ import annotations

import socket

import pytest

from whimbrel.base.dialect import V24
from whimbrel.base.errors import StartError
from whimbrel.config.model import Listener
from whimbrel.server.master.sockets import bind_all


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


def test_sockets_are_reused_after_a_restart() -> None:
    first = bind_all([Listener("127.0.0.1", 0)], {}, 5, V24)
    again = bind_all([Listener("127.0.0.1", 0)], first, 5, V24)
    assert first == again
    for one in first.values():
        one.close()
