"""Sends the responses of a connection of HTTP/1: bytes, files and streams, with back-pressure.

Responses are passed one at a time; the connection's `answered` is called when one is sent and the next may
follow.

In busy ticks (`WorkerState.is_busy`) responses from the cache are gathered and written at the end of the
tick, with those of all other connections: a client on the same machine is then woken up once for many of
them. A response with a file is the last one of its connection in a tick. All other code writes to
`Sender.transport`, which sends what was gathered first.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from whimbrel.engine.abandon import failed_response
from whimbrel.engine.body import JoinedSource, Part, SizedPart, Truncated, is_complete, size_of, sized
from whimbrel.engine.cache.response_template import LARGE_THRESHOLD
from whimbrel.engine.coroutines import Suspended, drive, run_until_suspended
from whimbrel.engine.response import Framing, Response
from whimbrel.http.http1.response import LAST_CHUNK, chunk, interim_bytes
from whimbrel.http.semantics.headers import Pair
from whimbrel.http.syntax.head import HTTP_1_1
from whimbrel.server.http1.send_file import FileSender
from whimbrel.server.http1.state import BUSY, LINGER
from whimbrel.server.worker.accounting import log_truncated
from whimbrel.server.worker.cancellation import cancel, close_source
from whimbrel.server.worker.state import FOREVER

if TYPE_CHECKING:
    from whimbrel.server.http1.connection import Http1Connection

# bytes of responses that wait for the client, above which no further request is started
WRITE_AHEAD: Final = 64 * 1024
BROKEN: Final = b"HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Sender:
    """Writes to the client.

    Attributes:
        gathered: responses that are written at the end of the tick, at most `WRITE_AHEAD` bytes and one more
        after_gathered: sends a response with a file behind them
        has_final_head: the head of the final response to the present request is sent
        file: sends files beside the transport
    """

    __slots__ = (
        "_drained",
        "_out",
        "_pending_file",
        "_transport",
        "after_gathered",
        "file",
        "gathered",
        "has_final_head",
        "session",
    )

    def __init__(self, session: Http1Connection, transport: asyncio.Transport) -> None:
        self.session = session
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.gathered = b""
        self.after_gathered: Callable[[], None] | None = None
        self.has_final_head = False
        self.file: FileSender | None = None
        self._out: socket.socket | None = None
        self._drained: asyncio.Future[None] | None = None
        self._pending_file: tuple[Response, bytes] | None = None

    @property
    def transport(self) -> asyncio.Transport:
        """The transport, to which all earlier responses were written."""
        if self.gathered:
            self.write_gathered()
        return self._transport

    def send_small(self, data: bytes) -> None:
        """Write a response of less than `LARGE_THRESHOLD` bytes; at the end of the tick in a busy one."""
        if self.gathered:
            self.gathered += data
            if len(self.gathered) > WRITE_AHEAD:
                self.write_gathered()
        elif self.session.service.is_busy:
            self.gathered = data
            self.session.service.gathering.append(self)
        else:
            self._transport.write(data)

    def write_gathered(self) -> None:
        """Write what was gathered."""
        data, transport, self.gathered = self.gathered, self._transport, b""
        if data and not transport.is_closing():
            transport.write(data)
        if self.after_gathered is not None:
            work, self.after_gathered = self.after_gathered, None
            work()

    # interim responses --------------------------------------------------------------------------
    def send_interim(self, status: int, fields: Iterable[Pair] = (), reason: str | None = None) -> None:
        """Send an interim response to the present request; see `Request.interim`."""
        session = self.session
        head = session.head
        if head is None or self.has_final_head or session.state is not BUSY:
            return
        if head.version < HTTP_1_1:
            return  # its client keeps the mark of one that waits: the connection ends
        if status == 100:
            head.expect_continue = False
        if not self.transport.is_closing():
            data = interim_bytes(status, fields, reason)
            session.connection.interim_bytes += len(data)
            self.transport.write(data)
        if status == 100:
            session.input.release_body()

    # responses ----------------------------------------------------------------------------------
    def send(self, response: Response) -> None:
        """Send the final response to the present request; in a task, or by `file`, if it has to wait."""
        session = self.session
        session.deadline = FOREVER
        head = response.head(session.service.date_of(response.received_at))
        parts = response.parts
        body = _joined(parts)
        if body is None:
            if is_complete(parts):
                self.send_rest(response, head)
            else:
                self._begin_stream(response, head)
            return
        data = body
        size = len(body)
        sent = size
        if response.framing is Framing.CHUNKED:
            data = chunk(body) + LAST_CHUNK
            sent = len(data)
        self.write(head, data)
        session.on_sent(response, size, sent - size)

    def write(self, head: bytes, body: bytes) -> None:
        """Write a response in one piece, or without copying a large body."""
        transport = self.transport
        if not transport.is_closing():
            if len(body) < LARGE_THRESHOLD:
                transport.write(head + body)
            else:
                transport.writelines((head, body))

    def send_rest(self, response: Response, head: bytes, already: int = 0) -> None:
        """Send a response with files, *already* bytes of it sent, when the buffer is empty."""
        self.session.deadline = FOREVER
        if self.open_socket() is None and not self.transport.is_closing():
            self._begin_stream(response, head)
            return
        self._pending_file = (response, head)
        if self.transport.get_write_buffer_size() and not self.transport.is_closing():
            self.transport.set_write_buffer_limits(high=0)
        else:
            self._send_files(already)

    def _send_files(self, already: int = 0) -> None:
        """Send a response with files, of which *already* bytes were sent; the transport's buffer is empty."""
        waiting, self._pending_file = self._pending_file, None
        if waiting is None:
            return
        session = self.session
        response, head = waiting
        out = self.open_socket() or socket.socket()
        self._out = out
        at_once = True
        size = sum(size_of(part) for part in response.parts)

        def done(count: int, problem: OSError | None) -> None:
            self.file = None
            if problem is not None:
                session.connection.aborted = True
                self._report(problem)
                self.transport.abort()
            session.on_sent(response, size, count - len(head) - size, broken=problem is not None)
            if not at_once:
                session.process()

        pieces = [head, *_framed(response)]
        stalled = partial(session.wait, session.listener.timeout)
        self.file = FileSender(session.service.loop, out, pieces, done, stalled, already)
        self.file.start()
        at_once = False

    def open_socket(self) -> socket.socket | None:
        """Return a duplicate of the connection's socket; None if it is closed, if a layer hides it, or if the
        process has no descriptor left.
        """
        if self._out is None and not self.transport.is_closing():
            original = self.transport.get_extra_info("socket")
            if original is not None:
                try:
                    handle = os.dup(original.fileno())
                except OSError:
                    return None
                # with its kind, which the constructor would otherwise read in two system calls
                self._out = socket.socket(original.family, original.type, original.proto, handle)
        return self._out

    def _begin_stream(self, response: Response, head: bytes) -> None:
        session = self.session
        session.task = session.service.loop.create_task(self._stream(response, head))
        if self.transport.is_closing():
            cancel(session.task, session.service.loop)

    def stream(self, response: Response) -> None:
        """Send a response whose one source waits for a back end alone: it needs no task, and what arrives is
        written in the stack of its arrival.
        """
        session = self.session
        session.deadline = FOREVER
        service = session.service
        work = run_until_suspended(
            self._stream(response, response.head(service.date_of(response.received_at)))
        )
        if isinstance(work, Suspended):
            session.task = drive(work, service.loop, self._streamed)

    def _streamed(self, _result: None, problem: BaseException | None) -> None:
        if problem is not None:
            self.session.service.report(problem)

    async def _stream(self, response: Response, head: bytes) -> None:
        """Send a body as it is produced; a failure closes the connection: the client sees it."""
        session = self.session
        chunked = response.framing is Framing.CHUNKED
        count = 0
        broken = False
        more = 0
        complete_size = 0
        parts: Sequence[Part] = response.parts
        if is_complete(parts):  # files that pass through a layer
            complete_size, parts, chunked = sum(map(size_of, parts)), _framed(response), False
        source = JoinedSource(parts)
        try:
            if not self.transport.is_closing():  # a closed transport raises
                self.transport.write(head)
            while (piece := await source.read()) is not None:
                if self.transport.is_closing():
                    break
                count += len(piece)
                if chunked and len(piece) >= LARGE_THRESHOLD:  # not copied
                    size = b"%x\r\n" % len(piece)
                    more += len(size) + 2
                    self.transport.writelines((size, piece, b"\r\n"))
                elif chunked:
                    framed = chunk(piece)
                    more += len(framed) - len(piece)
                    self.transport.write(framed)
                else:
                    self.transport.write(piece)
                if session.is_paused:
                    self._drained = session.service.loop.create_future()
                    await self._drained
            if self.transport.is_closing():
                broken = True
                session.connection.aborted = True
            elif chunked:
                self.transport.write(LAST_CHUNK)
                more += len(LAST_CHUNK)
        except asyncio.CancelledError:
            broken = True
        except Exception as problem:
            broken = True
            self._report(problem)
            self.transport.abort()
        finally:
            await close_source(source)
        if complete_size:
            count, more = complete_size, count - complete_size
        session.on_sent(response, count, more, broken=broken)
        session.process()

    def _report(self, problem: Exception) -> None:
        """Log why a response ends early, except for errors of the connection."""
        session = self.session
        if isinstance(problem, Truncated):
            session.connection.aborted = True
            log_truncated(session.service, session.connection, session.listener)
        elif not isinstance(problem, ConnectionError):
            session.service.report(problem)

    def send_failure(self, problem: BaseException) -> None:
        """Respond with a 500 without a body after an internal error, and log both."""
        session = self.session
        session.service.report(problem)
        if session.state is not LINGER:
            self.transport.write(BROKEN)
        response = failed_response(session.connection)
        if response is not None:
            session.on_sent(response, 0, broken=True)
        elif session.state is not LINGER:
            session.end()

    # the transport ------------------------------------------------------------------------------
    def resume(self) -> None:
        """Send on, as the client has taken what was written."""
        self._wake()
        if self._pending_file is not None:
            self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
            self._send_files()

    def close(self) -> None:
        """End what is being sent, as the connection is lost."""
        self._wake()
        if self.file is not None:
            self.file.stop()
        elif self._pending_file is not None:
            self._send_files()
        if self._out is not None:
            self._out.close()

    def _wake(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)


def _joined(parts: list[Part]) -> bytes | None:
    """Return all parts as one; None if there are files or sources among them."""
    if len(parts) == 1:
        first = parts[0]
        return first if isinstance(first, bytes) else None
    pieces = [part for part in parts if isinstance(part, bytes)]
    return b"".join(pieces) if len(pieces) == len(parts) else None


def _framed(response: Response) -> list[SizedPart]:
    """Return the parts of a response, with chunk framing if it is chunked."""
    if response.framing is not Framing.CHUNKED:
        return sized(response.parts)
    out: list[SizedPart] = []
    for part in sized(response.parts):
        size = size_of(part)
        out += [b"%x\r\n" % size, part, b"\r\n"] if size else []
    return [*out, LAST_CHUNK]
