"""A stream as a transport: flow control both ways, half-close, reset."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from whimbrel.engine.connection import Connection
from whimbrel.engine.input.body import RequestBody
from whimbrel.http.http2.connection import ServerH2Connection
from whimbrel.server.http2.stream import Stream
from whimbrel.server.http2.stream_transport import HIGH, StreamTransport

WINDOW = 65535
RST_STREAM, WINDOW_UPDATE = 3, 8


class Session:
    """The part of a connection that a transport uses; `frames` are those sent so far, by type and flags."""

    def __init__(self) -> None:
        self.wire: ServerH2Connection[Stream] = ServerH2Connection(self, 100, WINDOW)  # type: ignore[arg-type]
        self.is_full, self.waiting, self.service = False, 0, self
        self.loop = asyncio.get_running_loop()
        self.frames: list[tuple[int, int, int]] = []

    def flush(self) -> None:
        data = self.wire.take()
        while data:
            size = int.from_bytes(data[:3])
            self.frames.append((data[3], data[4], size))
            data = data[9 + size :]

    def fits(self, stream: Stream, size: int) -> int:
        return self.wire.fits(stream, size)

    def frame(self, stream: Stream, data: bytes, *, end: bool) -> None:
        self.wire.send_data(stream, data, end=end)

    def sent(self) -> int:
        """Return the bytes of DATA frames."""
        return sum(size for kind, _, size in self.frames if kind == 0)


class Recorder(asyncio.Protocol):
    """Notes what a transport reports."""

    def __init__(self) -> None:
        self.data, self.events = b"", []  # type: tuple[bytes, list[str]]

    def data_received(self, data: bytes) -> None:
        self.data += data

    def eof_received(self) -> bool:
        self.events.append("eof")
        return True

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append("lost")


class Harness:
    def __init__(self) -> None:
        self.session = Session()
        connection = Connection("127.0.0.1", 1, "127.0.0.1", 2)
        self.stream = Stream(1, connection, None, RequestBody(0), ended=False)  # type: ignore[arg-type]
        self.session.wire.open(self.stream)
        self.ends: list[int] = []
        self.transport = StreamTransport(
            self.session,  # type: ignore[arg-type]
            self.session,  # type: ignore[arg-type]
            self.stream,
            lost=lambda: self.ends.append(1),
        )
        self.protocol = Recorder()
        self.transport.set_protocol(self.protocol)

    def open_windows(self, size: int) -> None:
        self.session.wire.window += size
        self.stream.window += size
        self.transport.pump()
        self.session.flush()


def run(use: Callable[[Harness], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await use(Harness())

    asyncio.run(main())


def test_writing_stops_at_the_clients_window() -> None:
    async def use(own: Harness) -> None:
        own.transport.write(bytes(WINDOW + HIGH))
        assert (own.session.sent(), own.transport.get_write_buffer_size()) == (WINDOW, HIGH)
        assert own.transport.is_blocked and own.session.waiting == 1 and own.protocol.events == []
        own.transport.write(b"x")
        assert own.protocol.events == ["pause"]
        own.open_windows(HIGH)
        assert own.protocol.events == ["pause", "resume"] and own.transport.is_blocked
        own.open_windows(1)
        assert (own.session.sent(), own.session.waiting) == (WINDOW + HIGH + 1, 0)

    run(use)


def test_reading_stops_and_the_window_stays_closed() -> None:
    async def use(own: Harness) -> None:
        own.transport.pause_reading()
        for _ in range(4):
            own.transport.receive(bytes(10_000), ended=False)
        own.session.flush()
        assert (own.transport.held, own.protocol.data, own.session.frames) == (40_000, b"", [])
        own.transport.resume_reading()
        assert len(own.protocol.data) == 40_000 and own.transport.held == 0
        assert [kind for kind, _, _ in own.session.frames] == [WINDOW_UPDATE]

    run(use)


def test_each_side_ends_by_itself() -> None:
    async def use(own: Harness) -> None:
        own.stream.ended = True
        own.transport.receive(b"last", ended=True)
        assert (own.protocol.data, own.protocol.events) == (b"last", ["eof"])
        own.transport.write(b"answer")
        own.transport.write_eof()
        await asyncio.sleep(0)
        assert own.session.frames == [(0, 0, 6), (0, 1, 0)]
        assert (own.protocol.events, own.ends) == (["eof", "lost"], [1])

    run(use)


def test_close_waits_for_what_is_not_sent() -> None:
    async def use(own: Harness) -> None:
        own.transport.write(bytes(WINDOW + 5))
        own.transport.close()
        await asyncio.sleep(0)
        assert own.ends == []
        own.open_windows(5)
        await asyncio.sleep(0)
        assert own.session.frames[-1] == (0, 1, 0) and own.ends == [1]

    run(use)


def test_abort_resets_the_stream() -> None:
    async def use(own: Harness) -> None:
        own.transport.write(bytes(2 * WINDOW))
        own.transport.abort()
        await asyncio.sleep(0)
        assert own.session.frames[-1][0] == RST_STREAM
        assert (own.session.waiting, own.ends, own.protocol.events[-1]) == (0, [1], "lost")
        own.transport.abort()
        own.transport.write(b"late")
        await asyncio.sleep(0)
        assert own.ends == [1]

    run(use)
