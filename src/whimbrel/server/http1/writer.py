"""Sending side of a connection: responses of bytes, files and streams, back-pressure, lingering close.

Responses are passed one at a time; `_answered` is called when one is sent and the next may follow.

Responses from the cache are gathered and written at the end of the tick, with those of all other connections:
a client on the same machine is then woken up once for many of them. A response with a file is the last one of
its connection in a tick. All other code writes to `transport`, which sends what was gathered first.
"""

from __future__ import annotations

import asyncio
import os
import socket
from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum, auto
from functools import partial
from typing import Final

from whimbrel.engine.body import JoinedSource, Part, SizedPart, Truncated, is_complete, size_of, sized
from whimbrel.engine.cache.entry import LARGE_THRESHOLD, CachedResponse
from whimbrel.engine.connection import Connection, Takeover
from whimbrel.engine.response import Framing, Response
from whimbrel.http.http1.response import LAST_CHUNK, chunk
from whimbrel.http.syntax.head_shape import SplitHead
from whimbrel.server.http1.send_file import FileSender
from whimbrel.server.worker.accounting import account_response, log_truncated
from whimbrel.server.worker.cancellation import Cancellable, cancel, close_source
from whimbrel.server.worker.state import FOREVER, ListenerConfig, TimedConnection, WorkerState

# bytes of responses that wait for the client, above which no further request is started
WRITE_AHEAD: Final = 64 * 1024
LINGER: Final = 2.0  # seconds between the end of our side of the connection and the client's
BROKEN: Final = b"HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

# Entry, and the request's head where its bytes differ; the file's descriptor, and `FdCache.closed` with it.
GatheredFile = tuple[CachedResponse, SplitHead | None, int, int]


class ConnectionState(Enum):
    """State of a connection."""

    READY = auto()  # waits for a head
    BUSY = auto()  # a response is computed or sent
    DISCARD = auto()  # the response is sent, the rest of the request body is awaited
    LINGER = auto()  # our side is closed


# a look-up in an enumeration costs more, and each request has some
READY: Final = ConnectionState.READY
BUSY: Final = ConnectionState.BUSY


class ResponseWriter(asyncio.Protocol, TimedConnection):
    """Protocol base that writes responses."""

    __slots__ = (
        "_drained",
        "_eof",
        "_file",
        "_gathered",
        "_gathered_file",
        "_has_final_head",
        "_listener",
        "_out",
        "_paused",
        "_state",
        "_task",
        "_pending_file",
        "_transport",
        "connection",
        "service",
    )
    connection: Connection
    _transport: asyncio.Transport
    _listener: ListenerConfig

    def __init__(self, service: WorkerState) -> None:
        TimedConnection.__init__(self)
        self.service = service
        self._state = ConnectionState.READY
        self._eof = False
        self._paused = False
        self._has_final_head = False
        self._task: Cancellable | None = None
        self._file: FileSender | None = None
        self._out: socket.socket | None = None
        self._drained: asyncio.Future[None] | None = None
        self._pending_file: tuple[Response, bytes] | None = None
        self._gathered = b""  # at most `WRITE_AHEAD` bytes and one response
        self._gathered_file: GatheredFile | None = None

    @property
    def transport(self) -> asyncio.Transport:
        """The transport, to which all earlier responses were written."""
        if self._gathered:
            self.write_gathered()
        return self._transport

    @transport.setter
    def transport(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def _gather(self, data: bytes) -> None:
        """Write a response of less than `LARGE_THRESHOLD` bytes at the end of the tick."""
        if self._gathered:
            self._gathered += data
            if len(self._gathered) > WRITE_AHEAD:
                self.write_gathered()
        else:
            self._gathered = data
            self.service.gathering.append(self)

    def write_gathered(self) -> None:
        """Write what was gathered."""
        data, transport, self._gathered = self._gathered, self._transport, b""
        if data and not transport.is_closing():
            transport.write(data)
        if self._gathered_file is not None:
            file, self._gathered_file = self._gathered_file, None
            self._send_gathered_file(*file)

    @abstractmethod
    def _send_gathered_file(
        self, cached: CachedResponse, head: SplitHead | None, handle: int, closed: int
    ) -> None:
        """Send a response with a file that was gathered; the arguments are those of `GatheredFile`."""

    @abstractmethod
    def _process_buffer(self) -> None:
        """Process the buffered input."""

    @abstractmethod
    def _switches(self, response: Response) -> bool:
        """Return True if *response*, a 101 response, has handed the connection over to another protocol."""

    @abstractmethod
    def _take_input(self) -> bytes:
        """Return the input that was not processed, and read on."""

    @abstractmethod
    def _answered(self) -> None:
        """Continue after a response on a persistent connection."""

    @abstractmethod
    def _discard_input(self) -> None:
        """Discard buffered and further input."""

    def pause_writing(self) -> None:
        self._paused = True
        self._wait(self._listener.timeout)

    def resume_writing(self) -> None:
        self._paused = False
        if self._state is ConnectionState.READY:
            self._wait(self._listener.keep_alive)
        else:
            self._wait(LINGER if self._state is ConnectionState.LINGER else FOREVER)
        self._wake()
        if self._pending_file is not None:
            self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
            self._send_files()
        if self._state is ConnectionState.READY:
            self._process_buffer()

    def _wake(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def _wait(self, seconds: float) -> None:
        self.deadline = self.service.clock + seconds

    # sending ----------------------------------------------------------------------------------
    def _send(self, response: Response) -> None:
        self._has_final_head = True
        if response.request.takeover is not None:
            self._hand_to(response.request.takeover, response)
            return
        if response.request.status == 101 and self._switches(response):
            return
        self.deadline = FOREVER
        service = self.service
        head = response.head(service.date_of(response.received_at))
        parts = response.parts
        body = _joined(parts)
        if body is None:
            if is_complete(parts):
                self._send_rest(response, head)
            else:
                self._task = service.loop.create_task(self._stream(response, head))
                if self.transport.is_closing():
                    cancel(self._task, service.loop)
        else:
            data = body
            size = len(body)
            sent = size
            if response.framing is Framing.CHUNKED:
                data = chunk(body) + LAST_CHUNK
                sent = len(data)
            if not self.transport.is_closing():
                if sent < LARGE_THRESHOLD:
                    self.transport.write(head + data)
                else:
                    self.transport.writelines((head, data))
            self._on_sent(response, size, sent - size)

    def _hand_to(self, takeover: Takeover, response: Response) -> None:
        """Send the head of *response* and hand the connection to another protocol, until that has ended."""

        ended = partial(self._taken_back, response)
        self._task = None
        self.deadline = FOREVER
        if self.transport.is_closing():
            takeover(self.transport, ended).connection_lost(None)
            return
        self.transport.write(response.head(self.service.date_of(response.received_at)))
        protocol = takeover(self.transport, ended)
        self.transport.set_protocol(protocol)
        data = self._take_input()
        if data:
            protocol.data_received(data)
        if self._eof:
            protocol.eof_received()

    def _taken_back(self, response: Response, sent: int, received: int) -> None:
        """Account for a protocol that had taken the connection over and has ended."""
        response.request.body_in.framing += received
        account_response(self.service, self.connection, response, sent)
        self.connection.request = None
        self._state = ConnectionState.LINGER
        self.service.remove(self)

    def _send_rest(self, response: Response, head: bytes, already: int = 0) -> None:
        """Send a response with files, of which *already* bytes were sent, when the transport's buffer is
        empty.
        """
        self.deadline = FOREVER
        if self._dup_socket() is None and not self.transport.is_closing():
            self._task = self.service.loop.create_task(self._stream(response, head))
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
        response, head = waiting
        out = self._dup_socket() or socket.socket()
        self._out = out
        at_once = True
        size = sum(size_of(part) for part in response.parts)

        def done(count: int, problem: OSError | None) -> None:
            self._file = None
            if problem is not None:
                self.connection.aborted = True
                self._report(problem)
                self.transport.abort()
            self._on_sent(response, size, count - len(head) - size, broken=problem is not None)
            if not at_once:
                self._process_buffer()

        self._file = FileSender(
            self.service.loop, out, [head, *_framed(response)], done, self._wait_for_window, already
        )
        self._file.start()
        at_once = False

    def _dup_socket(self) -> socket.socket | None:
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

    def _wait_for_window(self) -> None:
        self._wait(self._listener.timeout)

    async def _stream(self, response: Response, head: bytes) -> None:
        """Send a response body as it is produced; a failure closes the connection, so the client detects
        truncation.
        """
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
                if chunked:
                    framed = chunk(piece)
                    more += len(framed) - len(piece)
                    self.transport.write(framed)
                else:
                    self.transport.write(piece)
                if self._paused:
                    self._drained = self.service.loop.create_future()
                    await self._drained
            if self.transport.is_closing():
                broken = True
                self.connection.aborted = True
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
        self._on_sent(response, count, more, broken=broken)
        self._process_buffer()

    def _report(self, problem: Exception) -> None:
        """Log why a response ends early, except for errors of the connection."""
        if isinstance(problem, Truncated):
            self.connection.aborted = True
            log_truncated(self.service, self.connection, self._listener)
        elif not isinstance(problem, ConnectionError):
            self.service.report(problem)

    def _on_sent(self, response: Response, count: int, more: int = 0, *, broken: bool = False) -> None:
        """Account for a sent or failed response; *count* and *more* are those of `Response.on_sent`."""
        account_response(self.service, self.connection, response, count, more)
        self.connection.request = None
        if self._state is ConnectionState.LINGER:
            return
        if broken or response.close:
            self._end()
        else:
            self._answered()

    def _failed(self, problem: BaseException) -> None:
        """Respond with a 500 without a body after an internal error, and log it."""
        self.service.report(problem)
        if self._state is not ConnectionState.LINGER:
            self.transport.write(BROKEN)
            self._end()

    # ends -------------------------------------------------------------------------------------
    def _end(self) -> None:
        """Close our side and give the client a moment to read and close its own (ap_lingering_close)."""
        self._state = ConnectionState.LINGER
        self._discard_input()
        if self.transport.is_closing():
            return
        if self._eof or not self.transport.can_write_eof():
            self.transport.close()
            return
        try:
            self.transport.write_eof()
        except OSError:
            self.transport.abort()
            return
        self._wait(self._listener.timeout if self._paused else LINGER)


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
