"""Connection to a back end: writes requests, feeds the reader of the answer, limits time and memory.

One request at a time uses a connection. The coroutine of that request awaits `changed`, which ends with the
next bytes, with the end of the connection, with a failure, and when the transport takes more bytes.
"""

from __future__ import annotations

import asyncio
import select
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, cast

from whimbrel.engine.body import Aborted
from whimbrel.engine.coroutines import Completion
from whimbrel.engine.live_source import LiveSource
from whimbrel.http.client.answer import TIMEOUT, AnswerReader, BackendError

if TYPE_CHECKING:
    from whimbrel.engine.tls import BackendTlsParameters

MAX_AHEAD: Final = 128 * 1024  # bytes of an answer that wait for the client, above which reading stops
WRITE_AHEAD: Final = 64 * 1024  # bytes of a request that the back end has not taken
RESET: Final = "(104)Connection reset by peer"
FOREVER: Final = float("inf")


class Waiter(Protocol):
    """What `BackendConnection` resumes: a `Completion`, or an object in its place."""

    def set(self, value: None) -> None:
        """Something has changed: bytes, the end, a failure."""


class RelayReader(AnswerReader):
    """A reader that is also the `Waiter`, for an answer that may be complete with its first bytes."""

    __slots__ = ()

    @abstractmethod
    def receive(self, data: bytes) -> bool:
        """Call `BackendConnection.complete` if *data* complete the answer, `receive_more` if they are the
        beginning of a known one; return False for any other answer, which is fed.
        """

    @abstractmethod
    def set(self, value: None) -> None:
        """See Waiter."""


class ConnectionOwner(ABC):
    """Where an idle connection goes, and where connections are counted."""

    @abstractmethod
    def release(self, connection: BackendConnection) -> None:
        """Take back an idle connection."""

    @abstractmethod
    def lost(self, connection: BackendConnection) -> None:
        """Forget a closed connection."""


class BackendConnection(asyncio.Protocol):
    """A connection to a back end.

    Attributes:
        reader: of the answer to the present request; None between requests.
        failure: why the present answer cannot be read any further.
        served: number of answers that were complete.
        used_at: time of the loop when it became idle.
        timeout: seconds that the back end may be silent while it is awaited.
        tls: the parameters with which it was made, None without TLS.
        has_answered: bytes have arrived since the request began.
        keeps_open: the connection may serve another request after this one.
        is_closed: the connection is of no further use.
        is_paused: the back end takes no more bytes for now.
        is_stalled: the timeout has passed, and the back end has not taken all bytes of the request.
    """

    __slots__ = (
        "_deadline",
        "_event",
        "_is_reading",
        "_loop",
        "_poll",
        "_pool",
        "_relay",
        "_taken",
        "_timer",
        "_unsent",
        "failure",
        "has_answered",
        "is_closed",
        "is_paused",
        "is_stalled",
        "keeps_open",
        "reader",
        "served",
        "timeout",
        "tls",
        "transport",
        "used_at",
    )
    transport: asyncio.Transport

    def __init__(self, pool: ConnectionOwner) -> None:
        self._pool = pool
        self._loop = asyncio.get_running_loop()
        self.reader: AnswerReader | None = None
        self.failure: BackendError | None = None
        self.served = 0
        self.tls: BackendTlsParameters | None = None
        self.used_at = 0.0
        self.timeout = FOREVER
        self.is_closed = False
        self.is_paused = False
        self.is_stalled = False
        self.has_answered = False
        self.keeps_open = True
        self._is_reading = True
        self._event: Waiter | None = None
        self._taken: Completion[None] | None = None  # awaited by the sender of a long request
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = FOREVER
        self._poll: Callable[[int], list[tuple[int, int]]] | None = None
        self._unsent = b""  # a request of `relay` before `write_gathered`
        self._relay: RelayReader | None = None  # the reader whose `receive` gets the next bytes

    # protocol -------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)

    def data_received(self, data: bytes) -> None:
        if self._unsent:
            self._end("")  # the request was not sent yet: these bytes belong to no request
            self.close()
            return
        relay, self._relay = self._relay, None
        if relay is not None and relay.receive(data):
            return
        reader = self.reader
        if reader is None or reader.done or self.failure is not None:
            self.close()  # bytes that no request has asked for
            return
        self.has_answered = True
        try:
            reader.feed(data)
        except BackendError as problem:
            self.fail(problem)
            return
        if reader.buffered > MAX_AHEAD and self._is_reading and not reader.done:
            self._is_reading = False
            self.transport.pause_reading()
        self.wake()

    def eof_received(self) -> bool:
        self._end("")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(RESET if exc is not None else "")
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._pool.lost(self)

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self._extend()
        self._wake_sender()

    # requests -------------------------------------------------------------------------------------
    def begin(self, reader: AnswerReader, timeout: float, *, keeps_open: bool = True) -> None:
        """Begin a request whose answer *reader* reads; the back end may be silent for *timeout* seconds.

        *keeps_open*: the connection serves further requests if the answer permits it.
        """
        self.reader = reader
        self.failure = None
        self.timeout = timeout
        self.keeps_open = keeps_open
        self.has_answered = False

    def has_input(self) -> bool:
        """Return True if bytes or the end of the input wait in an idle connection, unseen by the loop so far.

        They belong to no request that is sent afterwards (ap_proxy_check_connection).
        """
        if self._poll is None:
            poll = select.poll()
            poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
            self._poll = poll.poll
        return bool(self._poll(0))

    def write(self, data: bytes) -> None:
        """Send bytes of the request; after a failure they are dropped."""
        if not self.transport.is_closing():
            self._extend()
            self.transport.write(data)

    def _extend(self) -> None:
        """Give a back end that takes the request its time anew."""
        if self._event is not None:
            self._deadline = self._loop.time() + self.timeout

    def relay(self, reader: RelayReader, data: bytes, timeout: float) -> None:
        """Begin a request on an idle or a new connection; *reader* is resumed by the first change that is no
        complete answer. `write_gathered` sends *data*, all of the request.

        Such a connection has neither failed nor is it to be closed.
        """
        self.reader = reader
        self._event = reader
        self._relay = reader
        self._unsent = data
        self.timeout = timeout
        self.has_answered = False
        if timeout != FOREVER:
            self._deadline = self._loop.time() + timeout
            if self._timer is None:
                self._timer = self._loop.call_at(self._deadline, self._expire)
        if not self._is_reading:
            self._is_reading = True
            self.transport.resume_reading()

    def write_gathered(self) -> None:
        """Send the request of `relay`, unless the back end has closed the connection meanwhile."""
        data, self._unsent = self._unsent, b""
        transport = self.transport
        if data and not transport.is_closing():
            transport.write(data)

    def receive_more(self, reader: RelayReader) -> None:
        """Let *reader* receive the next bytes too; the back end gets its time anew."""
        self._relay = reader
        self.has_answered = True
        self._extend()

    def complete(self, *, is_reusable: bool) -> None:
        """End a request of `relay` whose answer has arrived; *is_reusable*: the connection stays open."""
        self.reader = None
        self._event = None
        if is_reusable and not self.is_closed:
            self.served += 1
            self._pool.release(self)
        else:
            self.close()

    def read_by(self, reader: AnswerReader, data: bytes, cause: str | None) -> None:
        """Let *reader* read the answer in place of one that has taken *data* as it was; *cause*: see
        `AnswerReader.eof`, None if the input has not ended.
        """
        self.reader = reader
        self._relay = None
        if data:
            self.data_received(data)
        if cause is not None and data:
            self._loop.call_soon(self._end, cause)  # the data came before, and are passed on as they are
        elif cause is not None:
            self._end(cause)

    async def changed(self) -> None:
        """Wait until bytes arrive, the transport takes more, or the connection ends or fails."""
        if self.failure is None:
            if not self._is_reading and not self.transport.is_closing():
                self._is_reading = True
                self.transport.resume_reading()
            event: Completion[None] = Completion()
            self._event = event
            self._deadline = self._loop.time() + self.timeout
            if self._timer is None and self._deadline != FOREVER:
                self._timer = self._loop.call_at(self._deadline, self._expire)
            await event

    async def next_head(self) -> None:
        """Wait for the head of the answer or an interim one. Raises BackendError."""
        reader = cast(AnswerReader, self.reader)
        while reader.head is None and not reader.interim:
            if self.failure is not None:
                raise self.failure
            await self.changed()

    async def drain(self) -> None:
        """Wait until the back end takes more bytes of the request, beside `changed`. Raises BackendError."""
        while self.is_paused and not self.is_closed:
            event: Completion[None] = Completion()
            self._taken = event
            await event
        if self.failure is not None:
            raise self.failure

    def take(self) -> bytes:
        """Return the bytes of the body that have arrived; `changed` reads on."""
        return cast(AnswerReader, self.reader).take()

    def finish(self) -> None:
        """Return the connection to its pool if it can serve another request; else close it."""
        reader, self.reader = self.reader, None
        if reader is not None:
            self._event = None
            self._deadline = FOREVER
            self._wake_sender()
            is_usable = reader.done and reader.reusable and not reader.rest and self.failure is None
            if is_usable and self.keeps_open and not self.is_closed and not self.transport.is_closing():
                self.served += 1
                self._pool.release(self)
            else:
                self.close()

    def hold_input(self) -> None:
        """Leave further bytes with the back end until `hand_over`."""
        if self._is_reading and not self.transport.is_closing():
            self._is_reading = False
            self.transport.pause_reading()

    def hand_over(self, protocol: asyncio.Protocol) -> bytes:
        """Let *protocol* use the transport after a 101 answer; return the bytes that arrived behind it.

        The connection counts as open until the caller calls `connection_lost`.
        """
        rest = cast(AnswerReader, self.reader).rest
        self.reader = None
        self._event = None
        self._deadline = FOREVER
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.transport.set_protocol(protocol)
        if not self._is_reading:
            self._is_reading = True
            self.transport.resume_reading()
        return rest

    def close(self) -> None:
        """Close the connection; a request that waits for it fails."""
        self.is_closed = True
        self.transport.abort()

    # events ---------------------------------------------------------------------------------------
    def wake(self) -> None:
        """End the present wait of `changed`."""
        event, self._event = self._event, None
        if event is not None:
            event.set(None)

    def _wake_sender(self) -> None:
        taken, self._taken = self._taken, None
        if taken is not None:
            taken.set(None)

    def fail(self, problem: BackendError) -> None:
        """Close the connection: the present request ends with *problem* behind what has arrived so far."""
        self.failure = problem
        self.close()
        self.wake()
        self._wake_sender()

    def _end(self, cause: str) -> None:
        """Handle the end of the input."""
        reader = self.reader
        self.is_closed = True
        self._unsent = b""
        if reader is not None and not reader.done and self.failure is None:
            try:
                reader.eof(cause)
            except BackendError as problem:
                self.fail(problem)
                return
        self.wake()
        self._wake_sender()

    def _expire(self) -> None:
        self._timer = None
        if self._event is None:
            return
        if self._deadline > self._loop.time():
            self._timer = self._loop.call_at(self._deadline, self._expire)
        else:
            self.is_stalled = self.transport.get_write_buffer_size() > 0
            self._end(TIMEOUT)
            self.close()


class BackendBody(LiveSource):
    """The body of an answer; the connection goes back to its pool after the last byte."""

    __slots__ = ("_connection", "_finished")

    def __init__(self, connection: BackendConnection, flush_wait: float | None = None) -> None:
        super().__init__(flush_wait)
        self._connection = connection
        self._finished = False

    async def wait(self) -> None:
        """Wait for bytes of the connection, or its end."""
        await self._connection.changed()

    def wake(self) -> None:
        self._connection.wake()

    def read_now(self) -> bytes | None:
        """Return the bytes that have arrived.

        Raises:
            Aborted: the back end failed, after `failed` has logged it.
        """
        connection = self._connection
        if self._finished:
            return None
        reader = cast(AnswerReader, connection.reader)
        if reader.buffered:
            data = connection.take()
            if reader.done:
                self._end()
            return data
        if reader.done:
            self._end()
            return None
        if connection.failure is not None:
            problem = connection.failure
            self._end()
            self.failed(problem)
            raise Aborted(str(problem))
        return b""

    def failed(self, problem: BackendError) -> None:
        """Log why the answer ends early."""

    def drop(self) -> None:
        self._end()

    async def aclose(self) -> None:
        self._end()

    def _end(self) -> None:
        if not self._finished:
            self._finished = True
            self._connection.finish()
