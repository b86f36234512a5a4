"""Records of a request, as the worker writes them."""

from __future__ import annotations

import socket
import threading

import pytest

from whimbrel.backends.fastcgi import END_STDIN, begin_request, params
from whimbrel.modules.wsgi.mod_wsgi_process.records import (
    MAX_CONTENT,
    MAX_PARAMS,
    PARAMS,
    STDOUT,
    Channel,
    ClientGone,
    record,
    records,
)


def test_the_variables_are_those_that_the_worker_sends() -> None:
    variables = {"A": "b", "LONG": "x" * 300, "N" * 200: "y", "EMPTY": "", "BYTES": "\xe9\xff"}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(begin_request() + params(variables.items())[0] + END_STDIN)
        assert Channel(theirs).variables() == variables


def test_variables_have_a_bound() -> None:
    ours, theirs = socket.socketpair()
    piece = record(PARAMS, b"x" * MAX_CONTENT)
    sent = 0

    def send() -> None:
        nonlocal sent
        try:
            while sent < 2 * MAX_PARAMS:
                ours.sendall(piece)
                sent += MAX_CONTENT
        except OSError:
            pass

    sender = threading.Thread(target=send)
    sender.start()
    with ours:
        with theirs, pytest.raises(ClientGone):
            Channel(theirs).variables()
        sender.join(10)
    assert MAX_PARAMS / 2 < sent < 2 * MAX_PARAMS


def test_a_connection_that_ends_is_noticed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(begin_request()[:5])
        ours.close()
        with pytest.raises(ClientGone):
            Channel(theirs).variables()


def test_long_output_is_cut_into_records() -> None:
    data = records(STDOUT, b"x" * (MAX_CONTENT * 2 + 1))
    assert len(data) == MAX_CONTENT * 2 + 1 + 3 * 8
    assert records(STDOUT, b"x") == record(STDOUT, b"x")


def test_lines_find_a_way_without_the_connection() -> None:
    lines: list[tuple[str, str]] = []
    ours, theirs = socket.socketpair()
    channel = Channel(theirs, lambda level, text: lines.append((level, text)))
    ours.close()
    with theirs:
        with pytest.raises(ClientGone, match="failed to write response data: Broken pipe"):
            channel.send(b"x")
        with pytest.raises(ClientGone, match="client connection closed"):
            channel.send(b"x")
        channel.log_error("caf\xe9".encode())
    assert lines == [("error", "caf\xe9")]
