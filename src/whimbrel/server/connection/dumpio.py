"""mod_dumpio: logs the input and output of connections.

Manual: mod/mod_dumpio.html. Connections have this type only where a server enables it, so it costs nothing
elsewhere. Whimbrel reads a head as a whole; the log shows it line by line, as httpd reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from stat import S_ISREG
from typing import Any, Final

from whimbrel.base.latin1 import to_text
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.body import FileSegment, JoinedSource, Part, is_complete, sized
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Framing, Response
from whimbrel.http.syntax.head import Head
from whimbrel.server.http1.protocol import HttpProtocol
from whimbrel.server.worker.state import WorkerState

PIECE: Final = 1968  # bytes of data in one line
_DATA, _COUNT, _IN, _OUT = 100, 58, 135, 164  # line numbers in mod_dumpio.c


class DumpIO:
    """Writes the log lines of one connection; *settings* enable the directions."""

    __slots__ = ("_about", "_engine", "_server", "input", "level", "old", "output")

    def __init__(self, engine: Any, server: Any, connection: Connection, settings: Any) -> None:
        self._engine, self._server = engine, server
        self.old = not engine.configuration.dialect.messages_24
        self.level = settings.level if self.old else "trace7"
        self._about = (
            Connection("", 0, connection.local_ip, connection.local_port) if self.old else connection
        )
        self.input, self.output = settings.input, settings.output

    def say(self, words: str, line: int) -> None:
        """Write one line to the error log."""
        source = f"mod_dumpio.c({line})"
        shown = (
            f"{source}: mod_dumpio: {words}" if self.old and self.level == "debug" else f"mod_dumpio: {words}"
        )
        self._engine.error_log.about_connection(
            self._about, self._server, LogLine(self.level, shown, "", "dumpio", source=source)
        )

    def data(self, direction: str, kind: str, data: bytes, *, shown_as: str = "") -> None:
        """Log the number of bytes and the bytes; a NUL ends the shown text of a piece."""
        self.say(f" dumpio_{direction} (data-{kind}): {len(data)} bytes", _COUNT)
        for at in range(0, len(data), PIECE):
            shown = to_text(data[at : at + PIECE]).partition("\0")[0]
            self.say(f" dumpio_{direction} (data-{shown_as or kind}): {shown}", _DATA)

    def asks(self, how: str, count: int) -> None:
        """Log that httpd reads from its input filters."""
        self.say(f"dumpio_in [{how}] {count} readbytes", _IN)

    def passes(self, *marks: str) -> None:
        """Log a brigade of metadata buckets."""
        self.say("dumpio_out", _OUT)
        self.marks(*marks)

    def marks(self, *marks: str) -> None:
        """Log metadata buckets."""
        for mark in marks:
            self.say(f" dumpio_out (metadata-{mark}): 0 bytes", _COUNT)


class DumpIOProtocol(HttpProtocol):
    """Connection whose server may enable dumps; it bypasses the response cache to log everything."""

    __slots__ = ("_dump",)

    def __init__(self, service: WorkerState) -> None:
        super().__init__(service)
        self._dump: DumpIO | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        engine, server = self.service.engine, self._listener.server
        settings = engine.configuration.provider("dumpio", "wanted")(engine.configuration, server)
        level = settings.level if not engine.configuration.dialect.messages_24 else "trace7"
        # notices are always logged
        is_enabled = level == "notice" or enabled(server.config(CoreServerConfig).log_level, "dumpio", level)
        if is_enabled and (settings.input or settings.output):
            self._dump, self._by_head = DumpIO(engine, server, self.connection, settings), {}
            if settings.input:
                self._dump.asks("getline-blocking", 0)

    def _try_cache(self, data: bytes) -> int:
        return super()._try_cache(data) if self._dump is None else 0

    def _start_request(self, head: Head) -> None:
        dump = self._dump
        if dump is not None and dump.input:
            for number, line in enumerate(bytes(self._buffer[: head.end]).splitlines(keepends=True)):
                if number:
                    dump.asks("getline-blocking", 0)
                dump.data("in", "HEAP", line)
        super()._start_request(head)

    def _feed(self) -> None:
        dump, data = self._dump, self._buffer
        if dump is not None and dump.input and data and self._parser is not None:
            dump.asks("readbytes-blocking", len(data))
            dump.data("in", "HEAP", data)
        super()._feed()

    def _send(self, response: Response) -> None:
        dump = self._dump
        if dump is not None and dump.output:
            dump.say("dumpio_out", _OUT)
            dump.data("out", "HEAP", response.head(self.service.date_field()))
            if not is_complete(response.parts):
                response.parts = [LoggedSource(dump, response.parts)]
            else:
                dump.say("dumpio_out", _OUT)
                for kind, data in _parts(response):
                    dump.data("out", kind, data, shown_as="MMAP" if kind == "FILE" else "")
                dump.marks("EOS")
                dump.passes("FLUSH" if dump.old else "EOR")
        super()._send(response)

    def _answered(self) -> None:
        dump = self._dump
        if dump is not None and dump.input:
            dump.asks("speculative-nonblocking", 1)
            dump.asks("getline-blocking", 0)
        super()._answered()

    def _end(self) -> None:
        if self._dump is not None and self._dump.output:
            self._dump.passes("FLUSH", "EOC")
        super()._end()


def _parts(response: Response) -> Iterator[tuple[str, bytes]]:
    """Iterate over (bucket type, bytes) of the body; a cached file's content counts as FILE, too."""
    r = response.request
    is_single_file = (
        r.finfo is not None
        and S_ISREG(r.finfo.st_mode)
        and r.status == 200
        and r.handler in (None, "", "default-handler")
    )
    for part in sized(response.parts):
        if isinstance(part, FileSegment):
            yield "FILE", part.read()
        elif part:
            yield (
                "FILE"
                if r.finfo is not None
                and is_single_file
                and len(part) == r.finfo.st_size
                and response.framing is not Framing.CHUNKED
                else "HEAP",
                part,
            )


class LoggedSource(JoinedSource):
    """Source that logs its pieces."""

    __slots__ = ("_dump",)

    def __init__(self, dump: DumpIO, parts: list[Part]) -> None:
        super().__init__(parts)
        self._dump = dump

    async def read(self) -> bytes | None:
        """Return the next bytes; log them, or the end."""
        data, dump = await super().read(), self._dump
        if data is not None:
            dump.say("dumpio_out", _OUT)
            dump.data("out", "HEAP", data)
        else:
            dump.passes("EOS")
            dump.passes("FLUSH" if dump.old else "EOR")
        return data
