"""Fast path: responses with files are sent at the end of the tick, and input waits until then."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import build_engine
from tests.support.fakes import FakeLoop, FakeTransport
from tests.support.site import MTIME
from tests.support.worker import WorkerHarness

from whimbrel.engine.cache.fd_cache import FdCache
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.http1.state import ConnectionState

SIZE = 40_000
BODY = b"f" * SIZE
SMALL, LARGE, MISSING, OTHER = (
    b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % name for name in (b"a.txt", b"b.bin", b"none", b"c.bin")
)
CONF = """LoadModule log_config_module modules/mod_log_config.so
LoadModule logio_module modules/mod_logio.so
CustomLog logs/access "%U %s %B %O"
KeepAliveTimeout 7
"""


class SocketTransport(FakeTransport):
    """A transport whose bytes go to a socket, in order with those that are sent beside it; *theirs* is the
    client's end.
    """

    def __init__(self, *addresses: tuple[str, int]) -> None:
        super().__init__(*addresses)
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.theirs.setblocking(False)
        self._extra["socket"] = self.ours

    def write(self, data: Any) -> None:
        self.ours.sendall(data)

    def received(self) -> bytes:
        """Return what the client has received since the last call."""
        try:
            return self.theirs.recv(1 << 20)
        except BlockingIOError:
            return b""

    def end(self) -> None:
        """Close both ends."""
        self.ours.close()
        self.theirs.close()


class FilesWorker(WorkerHarness):
    """A worker whose cache has the responses to `SMALL`, `LARGE`, `MISSING` and `OTHER`."""

    transport_type = SocketTransport

    def __init__(self, root: Path) -> None:
        files = {"htdocs/a.txt": "small", "htdocs/b.bin": BODY.decode(), "htdocs/c.bin": "c" * SIZE}
        super().__init__(build_engine(root, CONF, files), FakeLoop())
        self.root, self.wires = root, list[SocketTransport]()
        for data in (SMALL, LARGE, MISSING, OTHER) * 2:
            protocol, wire = self.client()
            self.turn(protocol, data)
            wire.received()
        self.lines()

    def client(self) -> tuple[Http1Connection, SocketTransport]:
        """Return a new connection and its transport."""
        protocol, wire = self.connect(("127.0.0.1", 4711), ("127.0.0.1", 80))
        assert isinstance(wire, SocketTransport)
        self.wires.append(wire)
        return protocol, wire

    def turn(self, protocol: Http1Connection, data: bytes) -> None:
        """Pass *data* to the protocol and run the rest of the tick, and the next one."""
        protocol.data_received(data)
        self.loop.tick()
        self.loop.tick()

    def lines(self) -> list[bytes]:
        """Return the access log's lines since the last call."""
        logs = self.engine.runtime.logs  # type: ignore[attr-defined]
        found = [line for name, lines in logs.items() if name.endswith("access") for line in lines]
        logs.clear()
        return found

    def close(self) -> None:
        """Close descriptors and sockets."""
        assert not self.problems
        self.service.files.close()
        for wire in self.wires:
            wire.end()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[FilesWorker]:
    made = FilesWorker(tmp_path)
    yield made
    made.close()


def statuses(data: bytes) -> list[bytes]:
    return [part[:3] for part in data.split(b"HTTP/1.1 ")[1:]]


def test_a_file_is_sent_and_logged_at_the_end_of_the_tick(worker: FilesWorker) -> None:
    protocol, wire = worker.client()
    protocol.data_received(LARGE)
    assert wire.received() == b"" and worker.lines() == [] and protocol.state is ConnectionState.BUSY
    assert protocol.is_busy
    assert worker.service.gathering == [protocol.sender]
    worker.loop.tick()
    data = wire.received()
    assert statuses(data) == [b"200"] and data.endswith(b"\r\n\r\n" + BODY)
    assert worker.lines() == [b"/b.bin 200 %d %d\n" % (SIZE, len(data))]
    assert protocol.state is ConnectionState.READY and not protocol.is_busy
    assert (protocol.connection.served, protocol.deadline) == (1, worker.service.clock + 7)


def test_files_of_all_connections_are_sent_together(worker: FilesWorker) -> None:
    clients = [worker.client() for _ in range(3)]
    for protocol, _wire in clients:
        protocol.data_received(LARGE)
    assert [wire.received() for _protocol, wire in clients] == [b""] * 3
    worker.loop.tick()
    assert all(wire.received().endswith(BODY) for _protocol, wire in clients)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (SMALL + LARGE + MISSING + LARGE + SMALL, ["/a.txt", "/b.bin", "/none", "/b.bin", "/a.txt"]),
        (LARGE + OTHER, ["/b.bin", "/c.bin"]),
        (LARGE + SMALL[:9], ["/b.bin"]),
    ],
)
def test_pipelined_responses_are_in_order(worker: FilesWorker, data: bytes, expected: list[str]) -> None:
    protocol, wire = worker.client()
    worker.turn(protocol, data)
    for _ in range(4):
        worker.loop.tick()
    found = wire.received()
    assert [line.split()[0].decode() for line in worker.lines()] == expected
    assert statuses(found) == [b"404" if name == "/none" else b"200" for name in expected]
    assert found.count(b"\r\n\r\n" + BODY) == expected.count("/b.bin")


def test_a_file_behind_another_response_in_a_pipeline_occurs_once(worker: FilesWorker) -> None:
    """It is looked up again after that response; a head is stored by its bytes when it occurs twice."""
    protocol, wire = worker.client()
    heads = [b"GET /b.bin HTTP/1.1\r\nHost: localhost\r\nX: %d\r\n\r\n" % number for number in range(5)]
    for head in heads:
        worker.turn(protocol, SMALL + head)
        for _ in range(3):
            worker.loop.tick()
        wire.received()
    assert len(worker.lines()) == 10
    assert not set(heads) & set(protocol.cached.index.by_head)
    worker.turn(protocol, heads[0])
    worker.loop.tick()
    assert heads[0] in protocol.cached.index.by_head


def test_input_of_the_same_tick_is_answered_afterwards(worker: FilesWorker) -> None:
    protocol, wire = worker.client()
    protocol.data_received(LARGE)
    protocol.data_received(SMALL[:20])
    worker.turn(protocol, SMALL[20:])
    worker.loop.tick()
    data = wire.received()
    assert statuses(data) == [b"200", b"200"] and data.endswith(b"small")
    assert [line.split()[0] for line in worker.lines()] == [b"/b.bin", b"/a.txt"]


def test_the_end_of_the_input_closes_the_connection_afterwards(worker: FilesWorker) -> None:
    protocol, wire = worker.client()
    protocol.data_received(LARGE)
    assert protocol.eof_received()
    worker.loop.tick()
    worker.loop.tick()
    assert wire.received().endswith(BODY) and wire.is_closed


def test_a_stopping_worker_closes_the_connection_afterwards(worker: FilesWorker) -> None:
    protocol, wire = worker.client()
    protocol.data_received(LARGE)
    worker.service.stop()
    assert not wire.is_closed
    worker.loop.tick()
    assert wire.received().endswith(BODY) and (wire.has_eof or wire.is_closed)


def test_a_lost_connection_is_logged_without_a_body(worker: FilesWorker) -> None:
    protocol, _wire = worker.client()
    protocol.data_received(LARGE)
    protocol.connection_lost(ConnectionResetError())
    worker.loop.tick()
    assert worker.lines() == [b"/b.bin 200 %d 0\n" % SIZE]
    assert worker.service.requests == 9 and protocol.state is ConnectionState.LINGER


def test_a_descriptor_that_was_closed_meanwhile_is_opened_again(worker: FilesWorker) -> None:
    worker.service.files.close()
    worker.service.files = FdCache(1)
    first, second = worker.client(), worker.client()
    first[0].data_received(LARGE)
    second[0].data_received(OTHER)
    worker.loop.tick()
    assert first[1].received().endswith(BODY)
    assert second[1].received().endswith(b"c" * SIZE)


@pytest.mark.parametrize("text", ["changed", None])
def test_a_file_that_has_changed_meanwhile_is_answered_anew(worker: FilesWorker, text: str | None) -> None:
    protocol, wire = worker.client()
    protocol.data_received(LARGE)
    path = worker.root / "htdocs/b.bin"
    path.unlink()
    if text is not None:
        path.write_text(text)
        os.utime(path, (MTIME, MTIME))
    worker.service.files.close()
    worker.loop.tick()
    worker.loop.tick()
    data = wire.received()
    assert statuses(data) == [b"404" if text is None else b"200"]
    assert text is None or data.endswith(b"\r\n\r\nchanged")
    assert len(worker.lines()) == 1


def no_descriptor(_handle: int) -> int:
    raise OSError(errno.EMFILE, "Too many open files")


def test_without_descriptors_the_connection_is_aborted_and_logged(
    worker: FilesWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, wire = worker.client()
    protocol.data_received(LARGE + SMALL)
    monkeypatch.setattr(os, "dup", no_descriptor)
    worker.loop.tick()
    worker.loop.tick()
    assert wire.is_closed and wire.received() == b"" and protocol.state is ConnectionState.LINGER
    assert worker.lines() == [b"/b.bin 200 %d 0\n" % SIZE] and protocol.connection.aborted


def test_without_a_descriptor_for_the_rest_the_connection_is_aborted_and_logged(
    worker: FilesWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, wire = worker.client()
    worker.turn(protocol, LARGE)
    worker.lines()
    wire.received()
    monkeypatch.setattr(os, "dup", no_descriptor)
    monkeypatch.setattr(os, "sendfile", lambda *_arguments: 0)
    worker.turn(protocol, LARGE + SMALL)
    assert wire.is_closed and protocol.state is ConnectionState.LINGER
    assert worker.lines() == [b"/b.bin 200 %d %d\n" % (SIZE, len(wire.received()))]
