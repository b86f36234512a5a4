"""Small pieces of output that are sent together: none is lost, none waits, none blocks another channel."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from unittest import mock

import pytest
from tests.support.samples import amount

from whimbrel.modules.wsgi.mod_wsgi_process import records as records_module
from whimbrel.modules.wsgi.mod_wsgi_process.gathering import Flusher
from whimbrel.modules.wsgi.mod_wsgi_process.records import (
    LOG,
    MAX_HELD,
    MAX_PIECES,
    STDOUT,
    Channel,
    ClientGone,
    record,
    records,
)

Pair = tuple[socket.socket, Channel]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Yield the server's end of a connection, and the channel of the process."""
    ours, theirs = socket.socketpair()
    ours.settimeout(10)
    with ours, theirs:
        yield ours, Channel(theirs)


def hold(channel: Channel, data: bytes) -> None:
    """Hold *data* without the thread that sends it."""
    with mock.patch.object(records_module, "FLUSHER", autospec=True):
        channel.hold(data, None)


def read_all(ours: socket.socket) -> tuple[bytes, list[bytes]]:
    """Return the output and the log lines that arrive until the end."""
    channel = Channel(ours)
    output = b""
    lines = []
    try:
        while True:
            kind, content = channel.next_record()
            if kind == STDOUT:
                output += content
            else:
                lines.append(content)
    except ClientGone:
        return output, lines


@pytest.mark.parametrize("seed", range(amount(3, 10)))
def test_what_is_held_arrives_in_order(pair: Pair, seed: int) -> None:
    ours, channel = pair
    channel.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 5000)
    found: list[tuple[bytes, list[bytes]]] = []
    reader = threading.Thread(target=lambda: found.append(read_all(ours)))
    reader.start()
    dice = random.Random(seed)
    wanted = b""
    lines = 0
    for _ in range(200):
        data = bytes([dice.randrange(256)]) * dice.choice((1, 100, 8192, 9000, 16384))
        way = dice.randrange(6)
        if way == 0:
            channel.send(records(STDOUT, data))
        elif way == 1:
            channel.send_output(b"", data, None)
        else:
            channel.hold(data, None)
        wanted += data
        if dice.random() < 0.2:
            channel.flush_now()
        if dice.random() < 0.1:
            channel.send(record(LOG, b"x"))
            lines += 1
    channel.send(b"")
    channel.connection.shutdown(socket.SHUT_WR)
    reader.join(10)
    assert found == [(wanted, [b"x"] * lines)]


def test_a_piece_goes_out_although_nothing_follows(pair: Pair) -> None:
    ours, channel = pair
    channel.hold(b"one", None)
    channel.hold(b"two", None)
    assert Channel(ours).next_record() == (STDOUT, b"onetwo")


def test_what_is_held_has_a_bound(pair: Pair) -> None:
    ours, channel = pair
    size = MAX_HELD // 7
    for number in range(7):
        assert channel._held_size == number * size
        hold(channel, bytes([number]) * size)
    assert channel._held == []
    received = Channel(ours)
    data = b""
    while len(data) < MAX_HELD:
        kind, content = received.next_record()
        assert kind == STDOUT
        data += content
    assert data == b"".join([bytes([number]) * size for number in range(7)])


def test_the_number_of_pieces_that_are_held_has_a_bound(pair: Pair) -> None:
    ours, channel = pair
    count = MAX_PIECES - 1  # one place is for the header of the record
    for _ in range(count):
        hold(channel, b"x")
    assert channel._held == []
    assert Channel(ours).next_record() == (STDOUT, b"x" * count)


def test_a_server_that_reads_nothing_holds_up_no_other_one(pair: Pair) -> None:
    ours, channel = pair
    flusher = Flusher()
    slow, other = socket.socketpair()
    with slow, other:
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                other.send(b"x" * 65536)
        other.setblocking(True)
        blocked = Channel(other)
        begun = time.monotonic()
        for each, data in ((blocked, b"y"), (channel, b"z")):
            hold(each, data)
            flusher.add(each)
        assert Channel(ours).next_record() == (STDOUT, b"z")
        assert time.monotonic() - begun < 5
        while True:  # the thread tries again meanwhile
            with blocked._lock:
                if blocked._unsent:
                    break
        assert blocked._unsent == records(STDOUT, b"y")


def test_a_failure_is_reported_by_the_next_piece(pair: Pair) -> None:
    ours, channel = pair
    ours.close()
    hold(channel, b"x")
    assert channel.flush_now()
    with pytest.raises(ClientGone, match="failed to write response data: Broken pipe"):
        channel.hold(b"y", None)
    with pytest.raises(ClientGone, match="client connection closed"):
        channel.hold(b"y", None)


def test_no_piece_is_lost_between_threads() -> None:
    pairs = [socket.socketpair() for _ in range(8)]
    found: list[int] = []

    def write(channel: Channel) -> None:
        for _ in range(300):
            channel.hold(b"x" * 10, None)

    def read(ours: socket.socket) -> None:
        ours.settimeout(10)
        channel = Channel(ours)
        size = 0
        while size < 3000:
            size += len(channel.next_record()[1])
        found.append(size)

    threads = [threading.Thread(target=write, args=(Channel(theirs),)) for _ours, theirs in pairs]
    threads += [threading.Thread(target=read, args=(ours,)) for ours, _theirs in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [3000] * 8
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


class FullMemory:
    """A connection that has no memory for what is sent."""

    def _fail(self, *_: object) -> int:
        raise MemoryError

    send = sendall = sendmsg = _fail


@pytest.mark.parametrize("is_flushed", [False, True])
def test_an_answer_does_not_go_on_without_a_piece(pair: Pair, *, is_flushed: bool) -> None:
    """What was taken in order to send it is lost: the answer must not end as if it were complete."""
    _ours, channel = pair
    hold(channel, b"lost")
    with mock.patch.object(channel, "connection", FullMemory()):
        if is_flushed:
            channel.flush_now()
        else:
            with pytest.raises(MemoryError):
                channel.send(b"more")
    with pytest.raises(ClientGone):
        channel.send(b"more")
