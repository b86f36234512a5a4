"""A client of an engine without sockets: raw request bytes in, raw response bytes out."""

from __future__ import annotations

import asyncio
import os

from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.body import FileSegment, JoinedSource
from whimbrel.engine.cache.fd_cache import open_if_unchanged
from whimbrel.engine.engine import Engine
from whimbrel.engine.input.body import RequestBody, invalid_length_body
from whimbrel.engine.parser_limits import head_limits, head_rules
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Framing, Response
from whimbrel.http.http1.chunked import BodyError, ChunkedBody
from whimbrel.http.syntax.head import Head, read_head
from whimbrel.http.syntax.line_reader import HeadLimits, InputState, ParserOptions

__all__ = ["TestClient", "HeadLimits", "ParserOptions"]


class TestClient:
    """A client connection: `send` feeds bytes and returns the responses to every complete request in them."""

    __test__ = False  # the name does not make it a test class of pytest

    def __init__(
        self, engine: Engine, connection: Connection, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        """Without *loop*, each request has an event loop of its own, which costs a quarter of its time."""
        self.engine = engine
        self.connection = connection
        self.run = asyncio.run if loop is None else loop.run_until_complete
        self.buffer = b""
        self.closed = False
        server = engine.main.config(CoreServerConfig)
        self.limits = head_limits(server)
        self.rules = head_rules(server, engine.configuration)

    def send(self, data: bytes, *, last: bool = False) -> bytes:
        """Return the responses to requests completed by *data*; *last*: the input ends here."""
        self.buffer += data
        out = b""
        while not self.closed and self.buffer:
            out += self._cached_responses()
            if self.closed:
                break
            head = read_head(
                self.buffer, self.limits, self.rules, ending=InputState.EOF if last else InputState.OPEN
            )
            if head is None:
                break
            rest = self.buffer[head.end :]
            body = RequestBody(0)
            if head.length_bad:
                body = invalid_length_body()
                head.close = True
            if head.error is None and (head.chunked or head.length):
                taken = self._body(head, rest)
                if taken is None:
                    break
                body, rest = taken
            self.buffer = rest
            out += self._response(head, body)
        return out

    def _cached_responses(self) -> bytes:
        """Return the cached responses to the heads at the beginning of the buffer."""
        out = b""
        while not self.closed:
            end = self.buffer.find(b"\r\n\r\n") + 4
            if end < 4:
                break
            connection = self.connection
            index = self.engine.response_cache.index(
                connection.local_ip, connection.local_port, connection.tls
            )
            hit = index.lookup(connection, self.buffer[:end], self.limits, None)
            if hit is None:
                break
            entry, head = hit
            template = entry.template
            now = self.engine.runtime.now()
            date = self.engine.http_date(now).encode()
            if template.file is not None:
                handle = open_if_unchanged(*template.file)
                if handle < 0:
                    break
                out += template.serialize_head(connection.served, date, now)
                out += _bytes(FileSegment(handle, 0, template.size))
            else:
                out += template.serialize(connection.served, date, now)
            self.buffer = self.buffer[end:]
            entry.log.write(head, template, connection, now)
            connection.served += 1
            self.closed = template.close
        return out

    def _body(self, head: Head, rest: bytes) -> tuple[RequestBody, bytes] | None:
        if not head.chunked:
            length = head.length or 0
            if len(rest) < length:
                return None
            body = RequestBody(length)
            body.feed(rest[:length])
            body.end()
            return body, rest[length:]
        body = RequestBody(None)
        reader = ChunkedBody(self.limits, self.rules)
        try:
            body.feed(reader.feed(rest))
        except BodyError as problem:
            body.fail(problem)
            return body, b""
        if not reader.done:
            return None
        body.trailers = reader.trailers
        body.end()
        return body, reader.rest

    def _response(self, head: Head, body: RequestBody) -> bytes:
        response, payload = self.run(self._complete(head, body))
        sent = len(payload)
        if response.framing is Framing.CHUNKED:
            payload = (b"%x\r\n%b\r\n" % (sent, payload) if sent else b"") + (
                b"" if response.request.connection.aborted else b"0\r\n\r\n"
            )
        out = response.head(self.engine.http_date(response.received_at).encode()) + payload
        response.on_sent(sent, len(payload) - sent)
        self.connection.served += 1
        self.closed = response.close or self.connection.aborted
        return out

    async def _complete(self, head: Head, body: RequestBody) -> tuple[Response, bytes]:
        """Return the response and its whole body, in one event loop: a CGI program must start and end in the
        same loop.
        """
        result = self.engine.respond(self.connection, head, body)
        response = result if isinstance(result, Response) else await result
        source = JoinedSource(response.parts)
        parts = []
        try:
            while (piece := await source.read()) is not None:
                parts.append(piece)
        except ConnectionError:
            self.connection.aborted = True
        finally:
            await source.aclose()
        other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if other_tasks:
            _, unfinished = await asyncio.wait(other_tasks, timeout=1)
            for task in unfinished:  # as the end of a loop does; the next request may have the same loop
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)
        return response, b"".join(parts)


def _bytes(part: bytes | FileSegment) -> bytes:
    if isinstance(part, bytes):
        return part
    data = part.read()
    os.close(part.handle)
    return data
