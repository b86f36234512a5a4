"""Transports of Unix sockets: bytes both ways, back-pressure, ends, and the number of system calls."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from whimbrel.backends.unix_transport import HIGH, UnixConnector, UnixTransport

Use = Callable[["Peer", socket.socket], Awaitable[Any]]


class Peer(asyncio.Protocol):
    """Records what it is told."""

    transport: UnixTransport

    def __init__(self) -> None:
        self.data, self.events = b"", list[str]()
        self.keeps_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, UnixTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        if data == b"fail":
            raise ValueError

    def eof_received(self) -> bool:
        self.events.append("eof")
        return self.keeps_open

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append(f"lost {exc.__class__.__name__}")


def run(root: Path, use: Use) -> Any:
    """Return what *use* returns with both ends of a connection; all descriptors are closed afterwards."""

    async def main() -> Any:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(root / "s"))
            listener.listen(1)
            connector = UnixConnector(asyncio.get_running_loop())
            peer = connector.connect(Peer, str(root / "s"))
            assert peer is not None
            end, _ = listener.accept()
            with end:
                found = await use(peer, end)
                peer.transport.abort()
                await turn()
            assert not connector._transports
            return found

    (root / "s").unlink(missing_ok=True)
    return asyncio.run(main())


async def turn(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_bytes_both_ways_and_the_end(tmp_path: Path) -> None:
    async def use(peer: Peer, end: socket.socket) -> Any:
        peer.transport.write(b"question")
        end.sendall(b"answer")
        await turn()
        found = end.recv(100), peer.data
        end.close()
        await turn()
        return *found, peer.events, peer.transport.is_closing()

    assert run(tmp_path, use) == (b"question", b"answer", ["eof", "lost NoneType"], True)


def test_a_half_closed_connection_goes_on_in_the_other_direction(tmp_path: Path) -> None:
    async def use(peer: Peer, end: socket.socket) -> Any:
        peer.keeps_open = True
        end.shutdown(socket.SHUT_WR)
        await turn()
        peer.transport.write(b"late")
        peer.transport.write_eof()
        return end.recv(100), end.recv(100), list(peer.events)

    assert run(tmp_path, use) == (b"late", b"", ["eof"])


def test_a_peer_that_does_not_read_pauses_the_writer(tmp_path: Path) -> None:
    async def use(peer: Peer, end: socket.socket) -> Any:
        data = os.urandom(1 << 20)
        peer.transport.write(data)
        peer.transport.write_eof()
        assert peer.events == ["pause"]
        assert peer.transport.get_write_buffer_size() > HIGH
        end.setblocking(False)
        got = b""
        for _ in range(10_000):
            await turn(1)
            try:
                piece = end.recv(65536)
            except BlockingIOError:
                continue
            if not piece:
                break
            got += piece
        return got == data, list(peer.events)

    assert run(tmp_path, use) == (True, ["pause", "resume"])


def test_close_sends_what_was_written_and_abort_does_not(tmp_path: Path) -> None:
    async def use(peer: Peer, end: socket.socket) -> int:
        peer.transport.write(bytes(1 << 20))
        peer.transport.close()
        assert peer.transport.is_closing()
        end.setblocking(False)
        got = 0
        for _ in range(10_000):
            await turn(1)
            try:
                piece = end.recv(65536)
            except BlockingIOError:
                continue
            got += len(piece)
            if not piece:
                break
        return got

    assert run(tmp_path, use) == 1 << 20


def test_a_paused_reader_loses_nothing_when_the_peer_ends(tmp_path: Path) -> None:
    async def use(peer: Peer, end: socket.socket) -> Any:
        peer.transport.pause_reading()
        end.sendall(b"all")
        end.close()
        await turn()
        before = peer.data, list(peer.events)
        peer.transport.resume_reading()
        await turn()
        return before, peer.data, peer.events

    assert run(tmp_path, use) == ((b"", []), b"all", ["eof", "lost NoneType"])


def test_a_write_to_a_closed_socket_ends_the_connection(tmp_path: Path) -> None:
    async def use(peer: Peer, end: socket.socket) -> list[str]:
        end.close()
        peer.transport.write(b"x")
        await turn()
        return peer.events

    assert run(tmp_path, use) == ["lost BrokenPipeError"]


@pytest.mark.filterwarnings("ignore")
def test_a_protocol_that_fails_loses_its_connection(tmp_path: Path) -> None:
    async def use(peer: Peer, end: socket.socket) -> list[str]:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        end.sendall(b"fail")
        await turn()
        return peer.events

    assert run(tmp_path, use) == ["lost NoneType"]


def test_a_full_queue_is_no_connection_and_a_missing_path_raises(tmp_path: Path) -> None:
    async def main() -> None:
        connector = UnixConnector(asyncio.get_running_loop())
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "s"))
            listener.listen(0)
            peers = [connector.connect(Peer, str(tmp_path / "s")) for _ in range(4)]
            assert peers[0] is not None
            assert peers[-1] is None
            for peer in peers:
                if peer is not None:
                    peer.transport.abort()
        with pytest.raises(FileNotFoundError):
            connector.connect(Peer, str(tmp_path / "none"))
        with pytest.raises(OSError):
            connector.connect(Peer, str(tmp_path / ("x" * 200)))

    asyncio.run(main())
