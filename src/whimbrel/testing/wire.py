"""Raw request bytes in, raw answer bytes out: one client connection to an engine, without sockets."""

from __future__ import annotations

import asyncio
import os

from whimbrel.config.core import CoreServer
from whimbrel.http.chunked import BodyError, ChunkedBody
from whimbrel.http.head import Ending, Head, HeadLimits, HeadRules, read_head
from whimbrel.request.answer import Answer, Framing
from whimbrel.request.body import FilePart, RequestBody, of_bad_length
from whimbrel.request.engine import Engine
from whimbrel.request.limits import head_limits, head_rules
from whimbrel.request.open_files import open_as
from whimbrel.request.record import Connection

__all__ = ["Client", "HeadLimits", "HeadRules"]


class Client:
    """A client connection: `send` feeds bytes, the answers to every complete request in them come back."""

    def __init__(self, engine: Engine, connection: Connection) -> None:
        self.engine, self.connection = engine, connection
        self.buffer = b""
        self.closed = False
        server = engine.main.conf(CoreServer)
        self.limits, self.rules = head_limits(server), head_rules(server, engine.configuration)

    def send(self, data: bytes, *, last: bool = False) -> bytes:
        """Answers to what has become complete by *data*; *last*: nothing more comes."""
        self.buffer += data
        out = b""
        while not self.closed and self.buffer:
            out += self._kept()
            head = read_head(self.buffer, self.limits, self.rules, ending=Ending.EOF if last else Ending.OPEN)
            if head is None:
                break
            rest = self.buffer[head.end :]
            body = of_bad_length() if head.length_bad else RequestBody(0)
            if head.error is None and (head.chunked or head.length):
                taken = self._body(head, rest)
                if taken is None:
                    break
                body, rest = taken
            self.buffer = rest
            out += self._answer(head, body)
        return out

    def _kept(self) -> bytes:
        """The answers that were kept for the heads at the beginning of the buffer."""
        out = b""
        while not self.closed:
            end = self.buffer.find(b"\r\n\r\n") + 4
            if end < 4:
                break
            book = self.engine.kept.book(self.connection.local_ip, self.connection.local_port)
            kept, head = book.look(self.connection, self.buffer[:end], self.limits, -1)
            if kept is None:
                break
            now = self.engine.runtime.now()
            date = self.engine.http_date(now).encode()
            if kept.file:
                handle = open_as(kept.file, kept.stamp)
                if handle < 0:
                    break
                out += kept.fields(self.connection, date, now) + _bytes(FilePart(handle, 0, kept.size))
            else:
                out += kept.wire(self.connection, date, now)
            self.buffer = self.buffer[end:]
            self.engine.repeated(kept, self.connection, head)
            self.connection.served += 1
            self.closed = kept.close
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

    def _answer(self, head: Head, body: RequestBody) -> bytes:
        answer, payload = asyncio.run(self._complete(head, body))
        sent = len(payload)
        if answer.framing is Framing.CHUNKED:
            payload = (b"%x\r\n%b\r\n" % (sent, payload) if sent else b"") + (b"" if answer.request.connection.aborted else b"0\r\n\r\n")
        out = answer.head(self.engine.http_date(self.engine.runtime.now()).encode()) + payload
        answer.sent(sent)
        self.connection.served += 1
        self.closed = answer.close or self.connection.aborted
        return out

    async def _complete(self, head: Head, body: RequestBody) -> tuple[Answer, bytes]:
        """The answer and all of its body, in one loop: a program that answers lives in it from beginning to end."""
        made = self.engine.respond(self.connection, head, body)
        answer = made if isinstance(made, Answer) else await made
        parts = [_bytes(part) for part in answer.parts]
        if answer.stream is not None:
            try:
                parts += [piece async for piece in answer.stream]
            except ConnectionError:
                self.connection.aborted = True
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=1)
        return answer, b"".join(parts)


def _bytes(part: bytes | FilePart) -> bytes:
    if isinstance(part, bytes):
        return part
    data = part.read()
    os.close(part.handle)
    return data
