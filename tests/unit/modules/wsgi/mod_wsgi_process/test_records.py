"""Records of a request, as the worker writes them."""

from __future__ import annotations

import random
import socket
import struct
import threading

import pytest
from tests.support.samples import amount

from whimbrel.backends.fastcgi import END_STDIN, FastcgiRole
from whimbrel.modules.wsgi.mod_wsgi.records import begin, variable_records, variable_text
from whimbrel.modules.wsgi.mod_wsgi_process.records import (
    BLOCK,
    MAX_CONTENT,
    MAX_PARAMS,
    PARAMS,
    STDOUT,
    Channel,
    ClientGone,
    NothingCame,
    parsed,
    plain_content,
    record,
    records,
)


def request_of(variables: dict[str, str], *, has_body: bool) -> bytes:
    """Return a request as the worker sends it."""
    start = begin(FastcgiRole.RESPONDER, has_body=has_body)
    return start + variable_records(variable_text(variables.items())) + (b"" if has_body else END_STDIN)


def test_the_variables_are_those_that_the_worker_sends() -> None:
    variables = {"A": "b", "LONG": "x" * 300, "N" * 200: "y", "EMPTY": "", "BYTES": "\xe9\xff"}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(request_of(variables, has_body=False))
        assert Channel(theirs).variables() == variables


@pytest.mark.parametrize("beyond", range(1, 9))
def test_a_request_without_a_body_is_read_to_its_last_byte(beyond: int) -> None:
    """Unread bytes of a process that is killed tell the server that the request may be sent again."""
    around = len(request_of({"A": "x" * MAX_CONTENT}, has_body=False)) - MAX_CONTENT
    data = request_of({"A": "x" * (2 * BLOCK - around + beyond)}, has_body=False)
    assert 0 < len(data) % BLOCK <= 24  # the end lies across a block
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(data)
        Channel(theirs).variables()
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(1)


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
            theirs.recv(1, socket.MSG_PEEK)
            Channel(theirs).variables()
        sender.join(10)
    assert MAX_PARAMS / 2 < sent < 2 * MAX_PARAMS


def test_a_request_that_is_not_there_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(NothingCame):
            Channel(theirs).variables()
        ours.sendall(request_of({"A": "b"}, has_body=False))
        assert Channel(theirs).variables() == {"A": "b"}


def test_a_connection_that_ends_is_noticed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(request_of({}, has_body=False)[:5])
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


def received(data: bytes, sizes: list[int]) -> tuple[object, ...]:
    """Return what a channel reads of *data*, which arrives in pieces of these sizes."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = Channel(theirs)
        at = 0
        pieces = []
        for size in sizes:
            pieces.append(data[at : at + size])
            at += size
        pieces.append(data[at:])
        channel._receive = lambda _flags=0: pieces.pop(0) if pieces else gone()  # type: ignore[method-assign]
        ours.close()
        try:
            variables = channel.variables()
        except (ClientGone, struct.error):
            return (None,)
        return variables, channel.role, channel.flags


def gone() -> bytes:
    """Raise ClientGone."""
    raise ClientGone


@pytest.mark.parametrize("seed", range(amount(3, 10)))
def test_a_request_in_one_piece_is_read_as_one_in_many(seed: int) -> None:
    dice = random.Random(seed)
    usual = 0
    for _ in range(300):
        variables = {f"N{n}": "v" * dice.choice((0, 1, 7, 300)) for n in range(dice.randrange(6))}
        data = request_of(variables, has_body=dice.random() < 0.3)
        if dice.random() < 0.4:
            at = dice.randrange(len(data))
            data = data[:at] + bytes([dice.choice((0, 1, 2, 4, 5, 255))]) + data[at + dice.randrange(2) :]
        whole = plain_content(data)
        found = received(data, [1] * len(data))
        if whole is not None:
            usual += 1
            assert (parsed(whole), 1, 1) == found
        assert received(data, []) == found
    assert usual > 50


def test_long_output_is_sent_without_a_copy_and_complete() -> None:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 5000)
    data = bytes(range(256)) * 5000
    found: list[bytes] = []

    def read() -> None:
        while piece := theirs.recv(3000):
            found.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    with ours, theirs:
        Channel(ours).send_output(b"before", data, None)
        ours.shutdown(socket.SHUT_WR)
        reader.join(10)
    assert b"".join(found) == b"before" + records(STDOUT, data)
