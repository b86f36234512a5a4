"""State of one HTTP/2 stream, and its request body under flow control."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.request import Connection
from whimbrel.http.http2.connection import StreamState
from whimbrel.http.syntax.head import Head
from whimbrel.server.worker.cancellation import Cancellable

if TYPE_CHECKING:
    from whimbrel.server.http2.connection import Http2Connection
    from whimbrel.server.http2.stream_transport import StreamTransport

JOIN_THRESHOLD: Final = 1024  # bytes up to which a piece of a request body is joined with the one before it


class Stream(StreamState):
    """One request and its response.

    Attributes:
        gone: the client will not see the response
        received: bytes of the body that have arrived
        head_size: decoded bytes of its field block
        is_ready: a piece of its response body waits to be sent
        leaders: streams whose bodies go out before its own; `followers`: the reverse
        parent: the stream on which it was promised
        leaders_rest: future that is done when a leader may have nothing to send
        room: future that is done when a window may have grown
        total: bytes of its body, None if a source produces it
        tick: tick of the connection in which its head arrived
        held: bytes of a response body that wait in memory
        key: Sec-WebSocket-Key of a request for WebSocket, "" for every other
        tunnel: the transport of a protocol that has taken the stream over
    """

    __slots__ = (
        "body",
        "connection",
        "gone",
        "head",
        "followers",
        "head_size",
        "held",
        "is_ready",
        "key",
        "leaders",
        "parent",
        "received",
        "room",
        "task",
        "tick",
        "total",
        "tunnel",
        "leaders_rest",
    )

    def __init__(
        self,
        number: int,
        connection: Connection,
        head: Head,
        body: RequestBody,
        *,
        ended: bool,
    ) -> None:
        super().__init__(number, ended)
        self.connection = connection
        self.head = head
        self.body = body
        self.gone = False
        self.is_ready = False
        self.parent: Stream | None = None
        self.leaders: tuple[Stream, ...] = ()
        self.followers: tuple[Stream, ...] = ()
        self.received = 0
        self.held = 0
        self.head_size = 0
        self.tick = 0
        self.total: int | None = None
        self.key = ""
        self.tunnel: StreamTransport | None = None
        self.room: asyncio.Future[None] | None = None
        self.leaders_rest: asyncio.Future[None] | None = None
        self.task: Cancellable | None = None

    @property
    def waits(self) -> bool:
        """True if the stream waits for the client."""
        if self.tunnel is not None:
            return self.tunnel.is_blocked
        return self.room is not None or (isinstance(self.body, StreamBody) and self.body.wanted)

    def wake(self) -> None:
        """Wake the sender: the window may have room, or a leader nothing to send."""
        for waiter in (self.room, self.leaders_rest):
            if waiter is not None and not waiter.done():
                waiter.set_result(None)
        self.room = None
        self.leaders_rest = None
        if self.tunnel is not None:
            self.tunnel.pump()

    def follow(self, leader: Stream) -> None:
        """Send the body of *leader* before that of this stream."""
        self.leaders += (leader,)
        leader.followers += (self,)

    def unlink(self) -> None:
        """Forget leaders and followers: the stream is over, or gets another place."""
        for leader in self.leaders:
            leader.followers = tuple([other for other in leader.followers if other is not self])
        for follower in self.followers:
            follower.leaders = tuple([other for other in follower.leaders if other is not self])
            follower.wake()
        self.leaders = ()
        self.followers = ()

    @property
    def must_yield(self) -> bool:
        """True if a leader has something to send, for which its window has room."""
        return any(leader.is_ready and leader.window > 0 for leader in self.leaders)

    def rest(self) -> None:
        """Let the followers send: there is nothing to send at present."""
        self.is_ready = False
        for follower in self.followers:
            follower.wake()


def stream_connection(outer: Connection, number: int, tag: str, push: str, received: int) -> Connection:
    """Return the connection of stream *number* as the phases see it: *outer* with one request.

    *tag* and *push* are notes of mod_http2; *received*: bytes in which the head came.
    """
    notes = {**outer.notes, "http2-id": str(number), "http2-tag": tag, "http2-push": push}
    connection = Connection(
        outer.client_ip,
        outer.client_port,
        outer.local_ip,
        outer.local_port,
        served=1,
        id=outer.id,
        is_draining=True,
        is_http2=True,
        tls=outer.tls,
        notes=notes,
        head_received=received,
    )
    if outer.proxied is not None:
        connection.proxied = outer.proxied
        connection.useragent_ip, connection.user_port = outer.proxied
    return connection


class StreamBody(RequestBody):
    """Request body of a stream; reading it opens the window, so a client is at most one window ahead.

    `received` counts what was read, as httpd's logs do.
    """

    __slots__ = ("_session", "_stream", "wanted")

    def __init__(self, length: int | None, session: Http2Connection, number: int) -> None:
        super().__init__(length, self._demand)
        self._session = session
        self._stream = number
        self.wanted = False
        self._done = False  # even a length of 0 ends with the stream only

    def feed(self, data: bytes) -> None:
        """Add data; small pieces are joined, since each object has an overhead."""
        chunks = self._chunks
        if chunks and len(data) < JOIN_THRESHOLD and len(chunks[-1]) < JOIN_THRESHOLD:
            chunks[-1] += data
        else:
            super().feed(data)
            self.received -= len(data)

    def take_buffered(self) -> bytes:
        data = super().take_buffered()
        self.received += len(data)
        self._session.release_window(self._stream, len(data))
        return data

    def _demand(self) -> None:
        self._session.send_continue(self._stream)

    async def read(self) -> bytes:
        session = self._session
        self.wanted = not self._chunks and not self._done
        session.waiting += self.wanted
        if self.wanted:
            session.set_deadline()
        try:
            data = await super().read()
        finally:
            session.waiting -= self.wanted
            self.wanted = False
        self.received += len(data)
        session.release_window(self._stream, len(data))
        session.flush()
        return data

    async def discard(self) -> None:
        """Do nothing: the stream ends without the rest of its body, as in httpd."""


class TunnelBody(StreamBody):
    """The body of a request that asks for a tunnel: empty; what the client sends already waits in it.

    As in httpd it is chunked for handlers: modules that need its length before they read it refuse it.
    """

    __slots__ = ()

    def __init__(self, _length: int | None, session: Http2Connection, number: int) -> None:
        super().__init__(None, session, number)
        self._done = True

    async def read(self) -> bytes:
        return b""
