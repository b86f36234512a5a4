"""Sources that pause between the parts of a response, and a client that reports what came before each end."""

from __future__ import annotations

import base64
import binascii
import os
import socket
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import brotli  # type: ignore[import-untyped,unused-ignore]
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset

from tests.support.raw_backend import record

HELD: Final = 0.4  # seconds after which a part counts as held back
PATIENCE: Final = 15.0  # seconds for the rest of a response
FIRST: Final = (
    b"<html><head><title>t</title></head><body>\n" + b"<p>one line of the first part</p>\n" * 20 + b"<p>begun"
)
REST: Final = b" and ended</p>\n<p>the rest</p>\n</body></html>\n"
SEEN: Final = b"FIRST PART"  # as the decoded content has it, in upper case
HEAD: Final = b"Content-Type: text/html\r\n"
SCRIPT: Final = """#!/bin/bash
exec 3<> "%BASE%/pauses/$QUERY_STRING"
printf 'Content-Type: text/html\\n\\n'
read -r -t 9 -u 3
cat "%BASE%/first"
read -r -t 9 -u 3
cat "%BASE%/rest"
"""

LUA: Final = """function handle(r)
local pauses = io.open("%BASE%/pauses/" .. r.args)
r.content_type = "text/html"
for _, name in ipairs({"first", "rest"}) do
r:flush()
pauses:read()
local part = io.open("%BASE%/" .. name)
r:write(part:read("*a"))
part:close()
end
pauses:close()
return apache2.OK
end
"""


class PausedBackend:
    """Back ends of HTTP and FastCGI whose responses wait for `release` before each part of the body.

    A request names its pauses in its query.
    """

    def __init__(self) -> None:
        self._pauses: dict[str, threading.Semaphore] = {}
        self.http_port = self._listen(self._http)
        self.fcgi_port = self._listen(self._fcgi)

    def _listen(self, serve: Callable[[socket.socket], None]) -> int:
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._listeners = [*getattr(self, "_listeners", ()), listener]

        def serve_all() -> None:
            with suppress(OSError):
                while True:
                    wire, _ = listener.accept()
                    threading.Thread(target=self._guarded, args=(serve, wire), daemon=True).start()

        threading.Thread(target=serve_all, daemon=True).start()
        port: int = listener.getsockname()[1]
        return port

    def _guarded(self, serve: Callable[[socket.socket], None], wire: socket.socket) -> None:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with wire, suppress(OSError):
            serve(wire)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def pause(self, key: str) -> Callable[[], None]:
        """Prepare the pauses of one request; return the function that ends one."""
        self._pauses[key] = threading.Semaphore(0)
        return self._pauses[key].release

    def _http(self, wire: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += wire.recv(65536) or b"\r\n\r\n"
        path, _, key = head.split()[1].decode().partition("?")
        first, rest, fields = FIRST, REST, HEAD
        if path.endswith("gzip"):
            packer = zlib.compressobj(wbits=31)
            first = packer.compress(FIRST) + packer.flush(zlib.Z_SYNC_FLUSH)
            rest = packer.compress(REST) + packer.flush()
            fields += b"Content-Encoding: gzip\r\n"
        fields = b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n" + fields
        wire.sendall(fields + b"\r\n")
        for part in (first, rest):
            self._pauses[key].acquire(timeout=PATIENCE)
            wire.sendall(b"%x\r\n%b\r\n" % (len(part), part))
        wire.sendall(b"0\r\n\r\n")

    def _fcgi(self, wire: socket.socket) -> None:
        data = b""
        while record(5, b"")[:6] not in data:
            piece = wire.recv(65536)
            if not piece:
                return
            data += piece
        at = data.index(b"QUERY_STRING") + len("QUERY_STRING")
        key = data[at : at + data[data.index(b"QUERY_STRING") - 1]].decode()
        wire.sendall(record(6, HEAD + b"\r\n"))
        for part in (FIRST, REST):
            self._pauses[key].acquire(timeout=PATIENCE)
            wire.sendall(record(6, part))
        wire.sendall(record(6, b"") + record(3, bytes(8)))


class PausedScripts:
    """A CGI script and a Lua handler below *base* whose pauses are named pipes."""

    def __init__(self, base: Path) -> None:
        self._pipes = base / "pauses"
        self._pipes.mkdir()
        (base / "first").write_bytes(FIRST)
        (base / "rest").write_bytes(REST)
        script = base / "paused.cgi"
        script.write_text(SCRIPT.replace("%BASE%", str(base)))
        script.chmod(0o755)
        (base / "paused.lua").write_text(LUA.replace("%BASE%", str(base)))

    def pause(self, key: str) -> Callable[[], None]:
        """Prepare the pauses of one request; return the function that ends one."""
        path = self._pipes / key
        os.mkfifo(path)
        path.chmod(0o666)
        handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)

        def release() -> None:
            os.write(handle, b"\n")

        return release


@dataclass
class Received:
    """What came of a response.

    Attributes:
        had_head: the head came while the source had no body yet.
        early: the decoded content that came before the source went on.
        whole: the decoded content in the end.
        ended: the response ended as it should.
    """

    had_head: bool = False
    early: bytes = b""
    whole: bytes = b""
    ended: bool = False


@dataclass
class _Arriving:
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False

    def decoded(self) -> bytes:
        """Return the content that the bytes so far stand for."""
        data = self.body
        for coding in reversed(self.fields.get("content-encoding", "").split(", ")):
            with suppress(zlib.error, brotli.error):
                if coding == "gzip":
                    data = zlib.decompressobj(31).decompress(data)
                elif coding == "br":
                    data = brotli.Decompressor().process(data)
        head, found, text = data.partition(b";base64,")
        if found and head[:5].upper() == b"DATA:":
            with suppress(binascii.Error):
                return base64.b64decode(text[: len(text) // 4 * 4])
        return data


class _Http1:
    def __init__(self, port: int, path: str) -> None:
        self.wire = socket.create_connection(("127.0.0.1", port))
        self.seen, self._data = _Arriving(), b""
        self._framed = b""
        fields = "Host: x\r\nConnection: close\r\nAccept-Encoding: gzip, br\r\n"
        self.wire.sendall(f"GET {path} HTTP/1.1\r\n{fields}\r\n".encode())

    def receive(self) -> bool:
        """Read once; return False at the end of the connection."""
        data = self.wire.recv(65536)
        self._data += data
        head, blank, body = self._data.partition(b"\r\n\r\n")
        if blank:
            lines = head.decode("latin-1").split("\r\n")[1:]
            self.seen.fields = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
            self.seen.fields[":status"] = head.decode("latin-1").split()[1]
            chunked = "transfer-encoding" in self.seen.fields
            self.seen.body, self.seen.ended = _dechunked(body) if chunked else (body, not data)
        return bool(data)


def _dechunked(data: bytes) -> tuple[bytes, bool]:
    """Return the content of the chunks so far, and True if the last one is there."""
    out = b""
    while b"\r\n" in data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return out, data == b"\r\n"
        out += data[:length]
        data = data[length + 2 :]
    return out, False


class _Http2:
    def __init__(self, port: int, path: str) -> None:
        self.wire = socket.create_connection(("127.0.0.1", port))
        self.seen = _Arriving()
        self._state = H2Connection()
        self._state.initiate_connection()
        names = {":method": "GET", ":scheme": "http", ":authority": "x", ":path": path}
        self._state.send_headers(1, [*names.items(), ("accept-encoding", "gzip, br")], end_stream=True)
        self.wire.sendall(self._state.data_to_send())

    def receive(self) -> bool:
        """Read once; return False at the end of the stream."""
        data = self.wire.recv(65536)
        for event in self._state.receive_data(data):
            if isinstance(event, ResponseReceived):
                self.seen.fields = {_text(name): _text(value) for name, value in event.headers}
            elif isinstance(event, DataReceived):
                self.seen.body += event.data
                self._state.acknowledge_received_data(event.flow_controlled_length, 1)
            elif isinstance(event, StreamEnded):
                self.seen.ended = True
            elif isinstance(event, StreamReset):
                return False
        self.wire.sendall(self._state.data_to_send())
        return bool(data) and not self.seen.ended


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def receive(port: int, path: str, release: Callable[[], None], *, http2: bool) -> Received:
    """Send one request; return what came before each pause of its source ended."""
    client = (_Http2 if http2 else _Http1)(port, path)
    result, seen = Received(), client.seen

    def wait_for(condition: Callable[[], bool], seconds: float) -> None:
        client.wire.settimeout(seconds)
        with suppress(TimeoutError, ConnectionError):
            while not seen.ended and not condition() and client.receive():
                pass

    with client.wire:
        wait_for(lambda: bool(seen.fields), HELD)
        result.had_head = bool(seen.fields)
        release()
        wait_for(lambda: SEEN in seen.decoded().upper(), HELD)
        result.early = seen.decoded()
        release()
        wait_for(lambda: False, PATIENCE)
    result.whole, result.ended = seen.decoded(), seen.ended
    return result
