"""mod_dumpio: a layer that logs the input and output of connections.

Manual: mod/mod_dumpio.html. The layer is installed only where a server enables it, so it costs nothing
elsewhere. It logs the bytes that pass. Two things in httpd's lines are not in the bytes: in which modes the
protocol reads (HTTP/1 reads a head line by line), and how it divides its output into brigades and buckets.
`DumpedConnection` states both through `DumpIOLayer.read` and `DumpIOLayer.expect`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from stat import S_ISREG
from typing import Any, Final, cast

from whimbrel.base.latin1 import to_text
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.engine.body import FileSegment, is_complete, size_of, sized
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Framing, Response
from whimbrel.http.http1.response import LAST_CHUNK
from whimbrel.http.syntax.head import Head
from whimbrel.server.connection.layer import ConnectionLayer
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.http1.input import Input
from whimbrel.server.http1.state import BUSY
from whimbrel.server.worker.state import WorkerState

PIECE: Final = 1968  # bytes of data in one line
HTTP2_READ: Final = 131072  # bytes for which httpd reads in HTTP/2
# line numbers in mod_dumpio.c
_DATA = 100
_COUNT = 58
_IN = 135
_OUT = 164


class DumpIO:
    """Writes the log lines of one connection; *settings* enable the directions."""

    __slots__ = ("_about", "_engine", "_server", "input", "level", "old", "output")

    def __init__(self, engine: Any, server: Any, connection: Connection, settings: Any) -> None:
        self._engine = engine
        self._server = server
        self.old = not engine.configuration.dialect.messages_24
        self.level = settings.level if self.old else "trace7"
        self._about = (
            Connection("", 0, connection.local_ip, connection.local_port) if self.old else connection
        )
        self.input = settings.input
        self.output = settings.output

    def say(self, words: str, line: int) -> None:
        """Write one line to the error log."""
        source = f"mod_dumpio.c({line})"
        shown = (
            f"{source}: mod_dumpio: {words}" if self.old and self.level == "debug" else f"mod_dumpio: {words}"
        )
        self._engine.error_log.about_connection(
            self._about, self._server, LogLine(self.level, shown, "", "dumpio", source=source)
        )

    def count(self, direction: str, kind: str, size: int) -> None:
        """Log the number of bytes of a bucket."""
        self.say(f" dumpio_{direction} (data-{kind}): {size} bytes", _COUNT)

    def content(self, direction: str, kind: str, data: bytes) -> None:
        """Log bytes of a bucket; a NUL ends the shown text of a piece."""
        for at in range(0, len(data), PIECE):
            shown = to_text(data[at : at + PIECE]).partition("\0")[0]
            self.say(f" dumpio_{direction} (data-{kind}): {shown}", _DATA)

    def data(self, direction: str, kind: str, data: bytes) -> None:
        """Log a bucket."""
        self.count(direction, kind, len(data))
        self.content(direction, kind, data)

    def asks(self, how: str, count: int) -> None:
        """Log that httpd reads from its input filters."""
        self.say(f"dumpio_in [{how}] {count} readbytes", _IN)

    def brigade(self) -> None:
        """Log the begin of a brigade."""
        self.say("dumpio_out", _OUT)

    def mark(self, name: str) -> None:
        """Log a metadata bucket."""
        self.say(f" dumpio_out (metadata-{name}): 0 bytes", _COUNT)


class Bucket:
    """Bucket of data that the protocol will write.

    Attributes:
        kind: its type; `shown_as`: the type when it was read
        size: its bytes; `left`: those that have not passed
        rest: bytes that have passed and were not logged, less than `PIECE`
    """

    __slots__ = ("kind", "left", "rest", "shown_as", "size")

    def __init__(self, kind: str, size: int, shown_as: str = "") -> None:
        self.kind = kind
        self.size = size
        self.left = size
        self.shown_as = shown_as or kind
        self.rest = b""

    def take(self, data: bytes, dump: DumpIO) -> bytes:
        """Log the bytes of *data* that belong to this bucket; return the others."""
        if self.left == self.size:
            dump.count("out", self.kind, self.size)
        mine = data[: self.left]
        self.left -= len(mine)
        joined = self.rest + mine
        end = len(joined) if not self.left else len(joined) - len(joined) % PIECE
        dump.content("out", self.shown_as, joined[:end])
        self.rest = joined[end:]
        return data[len(mine) :]


BRIGADE: Final = ""  # in `Output`: a brigade begins
Output = str | Bucket  # BRIGADE, the name of a metadata bucket, or a data bucket


class DumpIOLayer(ConnectionLayer):
    """Layer of a connection whose server may enable dumps."""

    __slots__ = ("_expected", "_is_http2", "dump", "service")

    def __init__(self, service: WorkerState) -> None:
        self.service = service
        self.dump: DumpIO | None = None
        self._expected: deque[Output] = deque()
        self._is_http2 = False

    def make_inner(self) -> DumpedConnection:
        """Return HTTP/1's protocol, which states how it reads and writes."""
        return DumpedConnection(self.service, self)

    def begin(self, connection: Connection, server: Server) -> None:
        """Begin to log a connection to *server*, if it enables dumps at its log level."""
        engine = self.service.engine
        settings = engine.configuration.provider("dumpio", "wanted")(engine.configuration, server)
        level = settings.level if not engine.configuration.dialect.messages_24 else "trace7"
        # notices are always logged
        is_enabled = level == "notice" or enabled(server.config(CoreServerConfig).log_level, "dumpio", level)
        if is_enabled and (settings.input or settings.output):
            self.dump = DumpIO(engine, server, connection, settings)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand the connection over to HTTP/2, which reads and writes plain bytes."""
        self._is_http2 = True
        super().set_protocol(protocol)

    def read(self, mode: str, count: int, data: bytes = b"") -> None:
        """Log that the protocol reads in *mode*, and the bytes that it has got."""
        dump = self.dump
        if dump is not None and dump.input:
            dump.asks(mode, count)
            if data:
                dump.data("in", "HEAP", data)

    def expect(self, *output: Output) -> None:
        """Note how the bytes of the following writes are divided; metadata is logged in its place."""
        if self.dump is not None and self.dump.output:
            self._expected.extend(output)
            self._log_metadata(self.dump)

    def _log_metadata(self, dump: DumpIO) -> None:
        expected = self._expected
        while expected:
            first = expected[0]
            if isinstance(first, Bucket):
                if first.left:
                    return
            elif first == BRIGADE:
                dump.brigade()
            else:
                dump.mark(first)
            expected.popleft()

    def data_received(self, data: bytes) -> None:
        if self._is_http2:
            self.read("readbytes-nonblocking", HTTP2_READ, data)
        super().data_received(data)

    def write(self, data: Any) -> None:
        dump = self.dump
        if dump is not None and dump.output:
            rest = bytes(data)
            while rest:
                first = self._expected[0] if self._expected else None
                if isinstance(first, Bucket):
                    rest = first.take(rest, dump)
                else:
                    dump.brigade()
                    dump.data("out", "HEAP", rest)
                    rest = b""
                self._log_metadata(dump)
            if self._is_http2:
                dump.brigade()
                dump.mark("FLUSH")
        super().write(data)


class DumpedInput(Input):
    """Input of a `DumpedConnection`."""

    __slots__ = ()

    def feed(self) -> None:
        """Log the bytes of a body."""
        if self.buffer and self.parser is not None:
            layer = cast(DumpedConnection, self.session).layer
            layer.read("readbytes-blocking", len(self.buffer), self.buffer)
        super().feed()


class DumpedConnection(Http1Connection):
    """HTTP/1 under a `DumpIOLayer`; if that logs, the response cache is bypassed."""

    __slots__ = ("layer",)
    input_type = DumpedInput

    def __init__(self, service: WorkerState, layer: DumpIOLayer) -> None:
        super().__init__(service)
        self.layer = layer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.layer.begin(self.connection, self.listener.server)
        if self.layer.dump is not None:
            self.cached.disable()
        self.layer.read("getline-blocking", 0)

    def respond(self, head: Head) -> None:
        dump = self.layer.dump
        if dump is not None and dump.input:
            for number, line in enumerate(bytes(self.input.buffer[: head.end]).splitlines(keepends=True)):
                if number:
                    dump.asks("getline-blocking", 0)
                dump.data("in", "HEAP", line)
        super().respond(head)

    def send(self, response: Response) -> None:
        head = response.head(self.service.date_field())
        self.layer.expect(BRIGADE, Bucket("HEAP", len(head)))
        if is_complete(response.parts):
            self.layer.expect(BRIGADE, *_buckets(response), "EOS", BRIGADE, self._end_of_request())
        super().send(response)

    def on_sent(self, response: Response, count: int, more: int = 0, *, broken: bool = False) -> None:
        if not broken and not is_complete(response.parts):
            self.layer.expect(BRIGADE, "EOS", BRIGADE, self._end_of_request())
        super().on_sent(response, count, more, broken=broken)

    def _end_of_request(self) -> str:
        return "FLUSH" if self.layer.dump is not None and self.layer.dump.old else "EOR"

    def answered(self) -> None:
        if self.state is BUSY:  # not at the end of a body that has no reader
            self.layer.read("speculative-nonblocking", 1)
            self.layer.read("getline-blocking", 0)
        super().answered()

    def end(self) -> None:
        self.layer.expect(BRIGADE, "FLUSH", "EOC")
        super().end()


def _buckets(response: Response) -> Iterator[Bucket]:
    """Iterate over the buckets of a complete body; a cached file's content counts as FILE, too."""
    r = response.request
    is_chunked = response.framing is Framing.CHUNKED
    is_single_file = (
        r.finfo is not None
        and S_ISREG(r.finfo.st_mode)
        and r.status == 200
        and r.handler in (None, "", "default-handler")
    )
    parts = sized(response.parts)
    if is_chunked and not any(isinstance(part, FileSegment) for part in parts):
        parts = [b"".join([part for part in parts if isinstance(part, bytes)])]  # sent as one chunk
    for part in parts:
        size = size_of(part)
        if not size:
            continue
        is_file = isinstance(part, FileSegment) or (
            r.finfo is not None and is_single_file and size == r.finfo.st_size and not is_chunked
        )
        if is_chunked:
            yield Bucket("TRANSIENT", len(b"%x\r\n" % size))
        yield Bucket("FILE", size, "MMAP") if is_file else Bucket("HEAP", size)
        if is_chunked:
            yield Bucket("IMMORTAL", 2)
    if is_chunked:
        yield Bucket("IMMORTAL", len(LAST_CHUNK))
