"""A back end on the loopback that speaks HTTP/2 badly, in the way that the path of a request names."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from threading import Thread
from typing import Final, Self

from hpack import Decoder, Encoder

DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM: Final = 1
END_HEADERS: Final = 4
ACK: Final = 1
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
BOMB: Final = 60_000  # bytes of a field that later heads repeat by its number


def frame(kind: int, flags: int, stream: int, data: bytes = b"", length: int | None = None) -> bytes:
    """Return a frame; *length* is announced in place of that of *data*."""
    size = len(data) if length is None else length
    return struct.pack(">I", size)[1:] + struct.pack(">BBI", kind, flags, stream) + data


def head(
    stream: int, *fields: tuple[str, str], status: str = "200", flags: int = END_HEADERS, kind: int = HEADERS
) -> bytes:
    """Return the frame with the head of an answer, which later heads cannot refer to."""
    block = b"".join(_literal(name, value) for name, value in ((":status", status), *fields))
    return frame(kind, flags, stream, block)


def _literal(name: str, value: str) -> bytes:
    """Return a field that enters no table (RFC 7541, 6.2.2)."""
    return b"\0" + _text(name) + _text(value)


def _text(value: str) -> bytes:
    data = value.encode("latin-1")
    if len(data) < 127:
        return bytes((len(data),)) + data
    out, left = b"\x7f", len(data) - 127
    while left >= 128:
        out += bytes((left % 128 + 128,))
        left //= 128
    return out + bytes((left,)) + data


def whole(stream: int, *fields: tuple[str, str], body: bytes = b"ok", status: str = "200") -> bytes:
    """Return a complete answer."""
    kind = ("content-type", "text/plain")
    return head(stream, kind, *fields, status=status) + frame(DATA, END_STREAM, stream, body)


def goaway(last: int, code: int = 0) -> bytes:
    """Return a frame GOAWAY."""
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code))


class Peer:
    """One connection; *send* writes to it, *closed* waits for the end of what the other side sends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.decoder = Decoder()
        self.is_open = True

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def frames(self) -> tuple[int, int, int, bytes]:
        """Return the next frame: type, flags, stream, payload."""
        start = await self.reader.readexactly(9)
        kind, flags, stream = struct.unpack(">BBI", start[3:])
        return kind, flags, stream, await self.reader.readexactly(int.from_bytes(start[:3], "big"))

    async def flood(self, data: bytes, pause: float = 0.0) -> None:
        """Send *data* again and again until the other side ends the connection."""
        while not self.reader.at_eof():
            await self.send(data)
            await asyncio.sleep(pause)


Fault = Callable[[Peer, int], Awaitable[None]]


def sent(make: Callable[[int], bytes], *, closes: bool = False, resets: bool = False) -> Fault:
    """Return the fault of sending the bytes that *make* gives for the number of the stream."""

    async def fail(peer: Peer, stream: int) -> None:
        await peer.send(make(stream))
        if closes:
            peer.is_open = False
        if resets:
            await asyncio.sleep(0.05)
            peer.writer.transport.abort()
            peer.is_open = False

    return fail


def flooded(
    make: Callable[[int], bytes], pause: float = 0.0, first: Callable[[int], bytes] = lambda _: b""
) -> Fault:
    """Return the fault of sending bytes without end behind *first*."""

    async def fail(peer: Peer, stream: int) -> None:
        await peer.send(first(stream))
        await peer.flood(make(stream) * (1 if pause else 100), pause)

    return fail


async def _bomb(peer: Peer, stream: int) -> None:
    """Name one large field of the table again and again."""
    encoder = Encoder()
    encoder.header_table_size = 4096
    field = [("x-bomb", "b" * 3900)]
    first = encoder.encode([(":status", "200"), *field])
    again = encoder.encode(field)
    block = first + again * 16000
    pieces = [block[at : at + 16000] for at in range(0, len(block), 16000)]
    data = frame(HEADERS, 0 if pieces[1:] else END_HEADERS, stream, pieces[0])
    for at, piece in enumerate(pieces[1:], 2):
        data += frame(CONTINUATION, END_HEADERS if at == len(pieces) else 0, stream, piece)
    await peer.send(data)


async def _early(peer: Peer, stream: int, end: Fault) -> None:
    """Answer an upload whose body has not arrived, and stop it as *end* does."""
    await peer.send(whole(stream, status="413"))
    await end(peer, stream)


def early(end: Fault) -> Fault:
    """Return the fault of an early answer with an *end*."""
    return lambda peer, stream: _early(peer, stream, end)


def _push(stream: int) -> bytes:
    block = Encoder().encode([(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")])
    return frame(PUSH, END_HEADERS, stream, b"\0\0\0\2" + block)


BEGIN: Final = ("content-type", "text/plain")
FAULTS: dict[str, Fault] = {
    "ok": sent(whole),
    # no HTTP/2 at all
    "huge-length": sent(lambda _: b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"),
    "huge-length-and-bytes": sent(lambda _: b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + bytes(100_000)),
    "bytes-ff": sent(lambda _: b"\xff" * 64),
    "bytes-0": sent(lambda _: bytes(64)),
    "http1": sent(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    "http1-400": sent(lambda _: b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", closes=True),
    "text": sent(lambda _: b"220 mail.example ESMTP ready\r\n"),
    "half-frame": sent(lambda stream: head(stream, BEGIN)[:5]),
    "half-frame-closed": sent(lambda stream: head(stream, BEGIN)[:12], closes=True),
    # frames that are not permitted
    "long-data": sent(lambda stream: head(stream, BEGIN) + frame(DATA, 1, stream, bytes(20_000))),
    "long-head": sent(lambda stream: head(stream, ("x", "y" * 20_000))),
    "data-first": sent(lambda stream: frame(DATA, END_STREAM, stream, b"body")),
    "other-stream": sent(lambda stream: head(stream + 2, BEGIN)),
    "even-stream": sent(lambda _: head(2, BEGIN)),
    "push": sent(lambda stream: _push(stream) + whole(stream)),
    "settings-size": sent(lambda _: frame(SETTINGS, 0, 0, b"\0")),
    "settings-stream": sent(lambda stream: frame(SETTINGS, 0, stream)),
    "settings-value": sent(lambda _: frame(SETTINGS, 0, 0, struct.pack(">HI", 5, 1))),
    "settings-window": sent(lambda _: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 31))),
    "settings-push": sent(lambda _: frame(SETTINGS, 0, 0, struct.pack(">HI", 2, 1))),
    "ping-size": sent(lambda _: frame(PING, 0, 0, b"\0")),
    "ping-stream": sent(lambda stream: frame(PING, 0, stream, bytes(8))),
    "window-zero": sent(lambda _: frame(WINDOW, 0, 0, bytes(4))),
    "window-overflow": sent(lambda _: frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff") * 2),
    "window-overflow-stream": sent(lambda stream: frame(WINDOW, 0, stream, b"\x7f\xff\xff\xff") * 2),
    "window-size": sent(lambda _: frame(WINDOW, 0, 0, b"\0")),
    "rst-size": sent(lambda stream: frame(RST, 0, stream, b"\0")),
    "rst-idle": sent(lambda stream: frame(RST, 0, stream + 2, bytes(4))),
    "rst-zero": sent(lambda _: frame(RST, 0, 0, bytes(4))),
    "goaway-size": sent(lambda _: frame(GOAWAY, 0, 0, b"\0")),
    "goaway-stream": sent(lambda stream: frame(GOAWAY, 0, stream, bytes(8))),
    "continuation": sent(lambda stream: frame(CONTINUATION, END_HEADERS, stream, b"\x88")),
    "continuation-other": sent(lambda stream: head(stream, flags=0) + frame(CONTINUATION, 4, stream + 2)),
    "head-interrupted": sent(lambda stream: head(stream, flags=0) + frame(PING, 0, 0, bytes(8))),
    "head-padding": sent(lambda stream: frame(HEADERS, 0x0C, stream, b"\xff\x88")),
    "data-padding": sent(lambda stream: head(stream, BEGIN) + frame(DATA, 0x09, stream, b"\xff1")),
    "hpack-index": sent(lambda stream: frame(HEADERS, END_HEADERS, stream, b"\x88\xff\xff\x7f")),
    "hpack-huffman": sent(lambda stream: frame(HEADERS, END_HEADERS, stream, b"\x88\x00\x81\xff\x81\xff")),
    "hpack-table": sent(lambda stream: frame(HEADERS, END_HEADERS, stream, b"\x3f\xff\xff\xff\x7f\x88")),
    "hpack-integer": sent(lambda stream: frame(HEADERS, END_HEADERS, stream, b"\x88\x00\x7f" + b"\xff" * 40)),
    # malformed answers
    "no-status": sent(lambda stream: frame(HEADERS, END_HEADERS | 1, stream, _literal("x", "y"))),
    "two-status": sent(lambda stream: head(stream, (":status", "200"))),
    "status-late": sent(lambda stream: frame(HEADERS, 5, stream, _literal("x", "y") + b"\x88")),
    "status-text": sent(lambda stream: whole(stream, status="2x0")),
    "status-1000": sent(lambda stream: whole(stream, status="1000")),
    "status-101": sent(lambda stream: whole(stream, status="101")),
    "pseudo": sent(lambda stream: head(stream, (":path", "/"))),
    "upper": sent(lambda stream: whole(stream, ("X-Upper", "y"))),
    "connection": sent(lambda stream: whole(stream, ("connection", "close"))),
    "coding": sent(lambda stream: whole(stream, ("transfer-encoding", "chunked"))),
    "te": sent(lambda stream: whole(stream, ("te", "gzip"))),
    "newline": sent(lambda stream: whole(stream, ("x", "a\r\nforged: 1"))),
    "nul": sent(lambda stream: whole(stream, ("x", "a\0b"))),
    "blank-name": sent(lambda stream: whole(stream, ("a b", "c"))),
    "length-text": sent(lambda stream: whole(stream, ("content-length", "2x"))),
    "length-negative": sent(lambda stream: whole(stream, ("content-length", "-2"))),
    "length-two": sent(lambda stream: whole(stream, ("content-length", "2"), ("content-length", "3"))),
    "length-short": sent(lambda stream: whole(stream, ("content-length", "1"))),
    "length-long": sent(lambda stream: whole(stream, ("content-length", "3"))),
    "two-heads": sent(lambda stream: head(stream, BEGIN) * 2 + frame(DATA, 1, stream, b"x")),
    "trailer-status": sent(lambda stream: head(stream, BEGIN) + head(stream, flags=5)),
    "trailer-open": sent(lambda stream: head(stream, BEGIN) + frame(HEADERS, 4, stream, _literal("x", "y"))),
    "data-after-end": sent(lambda stream: whole(stream) + frame(DATA, 1, stream, b"forged")),
    "head-after-end": sent(lambda stream: whole(stream) + head(stream, ("x-forged", "1"))),
    # large heads
    "large-field": sent(lambda stream: head(stream, ("x", "y" * 10_000)) + frame(DATA, 1, stream, b"x")),
    "bomb": _bomb,
    "many-fields": sent(lambda stream: head(stream, *[("x", "y")] * 3000) + frame(DATA, 1, stream, b"x")),
    # ends
    "close": sent(lambda _: b"", closes=True),
    "reset": sent(lambda _: b"", resets=True),
    "rst": sent(lambda stream: frame(RST, 0, stream, struct.pack(">I", 2))),
    "rst-no-error": sent(lambda stream: frame(RST, 0, stream, struct.pack(">I", 0))),
    "rst-refused": sent(lambda stream: frame(RST, 0, stream, struct.pack(">I", 7))),
    "rst-http11": sent(lambda stream: frame(RST, 0, stream, struct.pack(">I", 13))),
    "rst-after-head": sent(lambda stream: head(stream, BEGIN) + frame(RST, 0, stream, struct.pack(">I", 2))),
    "close-after-head": sent(lambda stream: head(stream, BEGIN), closes=True),
    "reset-after-head": sent(lambda stream: head(stream, BEGIN), resets=True),
    "garbage-after-head": sent(lambda stream: head(stream, BEGIN) + b"\xff" * 64),
    "goaway": sent(lambda stream: goaway(stream, 2), closes=True),
    "goaway-open": sent(lambda stream: goaway(stream, 2)),
    "goaway-untouched": sent(lambda _: goaway(0)),
    "goaway-after-head": sent(lambda stream: head(stream, BEGIN) + goaway(stream, 2), closes=True),
    "goaway-then-answer": sent(lambda stream: goaway(stream) + whole(stream)),
    # silence
    "silence": sent(lambda _: b""),
    "stall-after-head": sent(lambda stream: head(stream, BEGIN)),
    "hints": sent(lambda stream: head(stream, ("link", "</a>"), status="103") + whole(stream)),
    "stall-after-interim": sent(lambda stream: head(stream, status="103")),
    "head-without-end": sent(lambda stream: head(stream, BEGIN, flags=0)),
    # answers before the end of an upload
    "early": early(sent(lambda _: b"")),
    "early-rst": early(sent(lambda stream: frame(RST, 0, stream, bytes(4)))),
    "early-rst-cancel": early(sent(lambda stream: frame(RST, 0, stream, struct.pack(">I", 8)))),
    "early-close": early(sent(lambda _: b"", closes=True)),
    "early-goaway": early(sent(lambda stream: goaway(stream), closes=True)),
    "early-head": sent(lambda stream: head(stream, BEGIN, status="403")),
    "early-reset": sent(lambda stream: frame(RST, 0, stream, bytes(4))),
    # floods
    "ping-flood": flooded(lambda _: frame(PING, 0, 0, bytes(8))),
    "settings-flood": flooded(lambda _: frame(SETTINGS, 0, 0)),
    "continuation-flood": flooded(
        lambda stream: frame(CONTINUATION, 0, stream), first=lambda stream: head(stream, flags=0)
    ),
    "continuation-bytes": flooded(
        lambda stream: frame(CONTINUATION, 0, stream, _literal("x", "y" * 4000)),
        first=lambda stream: head(stream, flags=0),
    ),
    "empty-data-flood": flooded(
        lambda stream: frame(DATA, 0, stream), first=lambda stream: head(stream, BEGIN)
    ),
    "unknown-flood": flooded(lambda stream: frame(0xEE, 0, stream, bytes(100))),
    "interim-flood": flooded(lambda stream: head(stream, ("link", "</a>"), status="103")),
    "ping-drip": flooded(lambda _: frame(PING, 0, 0, bytes(8)), 0.2),
    "settings-drip": flooded(lambda _: frame(SETTINGS, 0, 0), 0.2),
    # of the stream: a drip of the connection's window is progress of uploads beside it, however slow
    "window-drip": flooded(lambda stream: frame(WINDOW, 0, stream, b"\0\0\0\1"), 0.2),
    "data-over-window": flooded(
        lambda stream: frame(DATA, 0, stream, bytes(16384)), first=lambda stream: head(stream, BEGIN)
    ),
}


class FaultyHttp2Backend:
    """A server, in a thread, whose answer to ``/NAME`` is the fault NAME.

    ``/NAME`` below ``/silent/`` gets no SETTINGS before the fault. Uploads are read and acknowledged unless
    *window* is false.

    Attributes:
        accepted: number of connections. `paths`: of the requests, in order. `received`: bytes of uploads.
        open: connections that are open. `fields`: of the last request. `extra`: further faults.
    """

    def __init__(self, extra: dict[str, Fault] | None = None) -> None:
        self.accepted = self.open = self.received = 0
        self.paths: list[str] = []
        self.fields: list[tuple[str, str]] = []
        self.faults = {**FAULTS, **(extra or {})}

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = int(self._server.sockets[0].getsockname()[1])
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(5)
        self._loop.close()

    def _stop(self) -> None:
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_later(0.05, self._loop.stop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.open += 1
        peer = Peer(reader, writer)
        try:
            await reader.readexactly(len(PREFACE))
            await self._requests(peer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _requests(self, peer: Peer) -> None:
        has_greeted = False
        running: dict[int, str] = {}
        while peer.is_open:
            kind, flags, stream, data = await peer.frames()
            if kind == HEADERS:
                pairs = peer.decoder.decode(data, raw=True)
                self.fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs]
                path = dict(self.fields)[":path"]
                self.paths.append(path)
                running[stream] = path
                if not has_greeted and not path.startswith("/silent/"):
                    await peer.send(frame(SETTINGS, 0, 0))
                    await peer.send(frame(SETTINGS, ACK, 0))
                has_greeted = True
                name = path.rpartition("/")[2].partition("?")[0]
                if flags & END_STREAM or name.startswith("early"):
                    await self._act(peer, stream, running.pop(stream))
            elif kind == DATA:
                self.received += len(data)
                if data and stream in running:
                    size = struct.pack(">I", len(data))
                    await peer.send(frame(WINDOW, 0, 0, size) + frame(WINDOW, 0, stream, size))
                if flags & END_STREAM and stream in running:
                    await self._act(peer, stream, running.pop(stream))
            elif kind == SETTINGS and not flags & ACK and has_greeted:
                await peer.send(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                await peer.send(frame(PING, ACK, 0, data))

    async def _act(self, peer: Peer, stream: int, path: str) -> None:
        fault = self.faults.get(path.rpartition("/")[2].partition("?")[0])
        await (fault or sent(lambda stream: whole(stream, status="404")))(peer, stream)
