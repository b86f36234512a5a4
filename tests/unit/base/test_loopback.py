"""Ports of the loopback interface."""

from __future__ import annotations

import socket

from whimbrel.base.loopback import LOOPBACK, free_port


def test_the_port_can_be_listened_on_and_differs_from_used_ones() -> None:
    with socket.socket() as first:
        first.bind((LOOPBACK, free_port()))
        first.listen()
        assert free_port() != first.getsockname()[1]
