"""Input of a connection of HTTP/1: divides received bytes into heads and request bodies, and pauses reading
above a bound.

RFC 9112; manual: mod/core.html (TimeOut), mod/mod_reqtimeout.html.
"""

from __future__ import annotations

from socket import IPPROTO_TCP, TCP_INFO
from typing import TYPE_CHECKING, Final

from whimbrel.engine.input.body import EARLY_BODY_NOTE, RequestBody, invalid_length_body
from whimbrel.engine.output.headers import final_request
from whimbrel.http.http1.chunked import BodyError, ChunkedBody, LengthBody
from whimbrel.http.syntax.head import Head, HeadReader, read_complete
from whimbrel.http.syntax.line_reader import InputState, LogMessage
from whimbrel.server.http1.state import BUSY, DISCARD, READY
from whimbrel.server.worker.read_timeout import ReadDeadline, start
from whimbrel.server.worker.state import FOREVER

if TYPE_CHECKING:
    from whimbrel.server.http1.connection import Http1Connection

MAX_AHEAD: Final = 64 * 1024  # bytes that a client may send ahead of the current response
MAX_BODY_AHEAD: Final = 64 * 1024  # bytes of a body that wait for their reader
MAX_DISCARD: Final = 16 * 1024 * 1024  # bytes of an unread body up to which the connection stays open
SUCCESS: Final = 2  # first digit of statuses
RESET_CHECK: Final = 0.5  # seconds between two checks of a connection that is not read
TCP_CLOSE: Final = 7  # tcpi_state of a connection that was reset


class Input:
    """What a client has sent and no request has taken yet.

    Attributes:
        buffer: these bytes; the data of `reader`, a bytearray, while that reads an incomplete head
        body: of the present request. `parser`: its framing, until it has ended.
        is_ended: the client has closed its side
        is_poisoned: a body was malformed or late, so no further request is read
        read_deadline: RequestReadTimeout for the head or body that is being received
    """

    __slots__ = (
        "_body_bytes",
        "_discarded",
        "_empty",
        "_has_reset_check",
        "_is_held",
        "body",
        "buffer",
        "is_ended",
        "is_poisoned",
        "is_reading",
        "parser",
        "read_deadline",
        "reader",
        "session",
    )

    def __init__(self, session: Http1Connection) -> None:
        self.session = session
        self.buffer = b""
        self.reader: HeadReader | None = None
        self.is_reading = True
        self.is_ended = False
        self.is_poisoned = False
        self.body: RequestBody | None = None
        # shared body of requests without one, as long as it is unchanged
        self._empty: RequestBody | None = None
        self.parser: ChunkedBody | LengthBody | None = None
        self.read_deadline: ReadDeadline | None = None
        self._body_bytes = 0
        self._discarded = 0
        self._is_held = False
        self._has_reset_check = False

    # reading ------------------------------------------------------------------------------------
    def receive(self, data: bytes) -> None:
        """Take bytes that arrive while a response is computed or sent."""
        if self.is_poisoned:
            return
        self.buffer += data
        if self.parser is not None and not self._is_held:
            self.feed()
        elif len(self.buffer) > MAX_AHEAD:
            self._stop_reading()

    def receive_end(self) -> None:
        """Note that the client has closed its side, which may end the body early."""
        self.is_ended = True
        if not self._is_held:  # else the buffer has what there is of the body
            self.feed()

    def _stop_reading(self) -> None:
        if self.is_reading and not self.session.sender.transport.is_closing():
            self.is_reading = False
            self.session.sender.transport.pause_reading()
            if not self._has_reset_check:
                self._has_reset_check = True
                self.session.service.loop.call_later(RESET_CHECK, self._check_reset)

    def _check_reset(self) -> None:
        """End the connection if the client has reset it: the loop reports nothing in a pause."""
        transport = self.session.sender.transport
        if self.is_reading or transport.is_closing():
            self._has_reset_check = False
            return
        client = transport.get_extra_info("socket")
        if client is None or client.getsockopt(IPPROTO_TCP, TCP_INFO, 1)[0] != TCP_CLOSE:
            self.session.service.loop.call_later(RESET_CHECK, self._check_reset)
        else:
            transport.abort()

    def read_on(self) -> None:
        """Resume reading."""
        if not self.is_reading and not self.session.sender.transport.is_closing():
            self.is_reading = True
            self.session.sender.transport.resume_reading()

    def discard(self) -> None:
        """Drop the waiting bytes, and read on for the end of the connection."""
        self.buffer = b""
        self.parser = None
        self.reader = None
        self.read_on()

    def set_timeout(self, count: int) -> None:
        """Set the deadline for the rest of a head or body of which *count* bytes are there.

        TimeOut applies, and RequestReadTimeout where it ends earlier: of the request's host for a body.
        """
        session = self.session
        r = session.connection.request
        listener = session.listener if r is None else session.service.settings_of(r.server)
        session.wait(listener.timeout)
        if listener.reading is not None:
            if self.read_deadline is None:
                self.read_deadline = start(listener.reading, body=session.state is not READY)
            deadline = self.read_deadline.deadline_for(count) - session.service.period
            session.deadline = min(session.deadline, deadline)

    # heads --------------------------------------------------------------------------------------
    def read_head(self, ending: InputState = InputState.OPEN) -> Head | None:
        """Return the head at the buffer's front; None if it is incomplete or has no answer at the end."""
        data = self.buffer
        listener = self.session.listener
        head = None
        if self.reader is None:
            head = read_complete(data, listener.limits, listener.rules, listener.fields)
        if head is None:
            reader = self.reader or HeadReader(data, listener.limits, listener.rules)
            head = reader.read(ending)
            if head is None:
                self.reader = reader
                self.buffer = reader.data  # type: ignore[assignment]
                self.set_timeout(len(data))
        return head

    def parse(self, raw: bytes) -> Head | None:
        """Return a complete head that was answered by its bytes."""
        listener = self.session.listener
        head = read_complete(raw, listener.limits, listener.rules, listener.fields)
        return head or HeadReader(raw, listener.limits, listener.rules).read()

    # bodies -------------------------------------------------------------------------------------
    def begin_body(self, head: Head) -> RequestBody:
        """Take *head* off the buffer and return the body that follows it."""
        connection = self.session.connection
        peeked = connection.peeked
        if peeked[0] and peeked[0] > len(self.buffer):
            connection.peeked = len(self.buffer), peeked[1]
        rest = self.buffer[head.end :]
        self.buffer = rest if rest.__class__ is bytes else bytes(rest)
        self._body_bytes = 0
        self.read_deadline = None
        self.reader = None
        self.parser = None
        if head.length or head.chunked or head.length_bad:
            return self._make_body(head)
        body = self._empty
        if body is None or body.failure is not None:
            body = RequestBody(0)
            self._empty = body
        self.body = body
        return body

    def _make_body(self, head: Head) -> RequestBody:
        if head.error is not None or not (head.chunked or head.length):
            head.close = head.close or head.length_bad
            self.body = invalid_length_body() if head.length_bad else RequestBody(0)
            return self.body
        body = RequestBody(None if head.chunked else head.length, self._serve_reader)
        self.body = body
        listener = self.session.listener
        self.parser = (
            ChunkedBody(listener.limits, listener.rules) if head.chunked else LengthBody(head.length or 0)
        )
        # until a handler reads it: of a client that waits for 100 Continue; of a tunnel, which has no framing
        self._is_held = head.expect_continue or head.method == "CONNECT"
        if not self._is_held:
            self.feed()
        return body

    def _serve_reader(self) -> None:
        """Receive the request body, which a handler reads; one of an ErrorDocument finds it empty while the
        client awaits 100 Continue.
        """
        session = self.session
        if self._is_held:
            if session.head is not None and session.head.expect_continue:
                r = session.connection.request
                if r is not None and self.body is not None and final_request(r).status // 100 != SUCCESS:
                    self.body.end()
                    return
                if r is None or EARLY_BODY_NOTE not in r.notes or not self.buffer:
                    session.sender.send_interim(100)
            if self._is_held:
                self.release_body()
        self.set_timeout(self._body_bytes)
        self.read_on()

    def release_body(self) -> None:
        """Parse what has arrived of the body, and all that follows."""
        self._is_held = False
        self.feed()

    def discard_body(self) -> None:
        """Receive the rest of a body that has no reader."""
        self._discarded = 0
        self.set_timeout(self._body_bytes)
        self.read_on()
        self.release_body()

    def feed(self) -> None:
        """Pass the buffered bytes to the body, or drop them if it has no reader.  They are the last ones if
        the client has closed its side.
        """
        if self.buffer and self.parser is not None and self.body is not None:
            self._feed_buffered(self.parser, self.body)
        if self.is_ended and self.parser is not None:
            try:
                self.parser.close()
            except BodyError as problem:
                self.poison(problem)

    def _feed_buffered(self, parser: ChunkedBody | LengthBody, body: RequestBody) -> None:
        session = self.session
        data, self.buffer = self.buffer, b""
        self._body_bytes += len(data)
        if session.deadline != FOREVER:
            self.set_timeout(self._body_bytes)
        try:
            piece = parser.feed(data)
        except BodyError as problem:
            self.poison(problem)
            return
        if session.state is DISCARD:
            self._discarded += len(piece)
        elif piece:
            body.feed(piece)
        if parser.done:
            body.framing = self._body_bytes - len(parser.rest) - body.received
            if len(parser.trailers):
                body.trailers = parser.trailers
            self.buffer = parser.rest
            self.parser = None
            body.end()
            if session.state is DISCARD:
                session.answered()
                session.process()
            elif session.state is BUSY:
                session.deadline = FOREVER
        elif session.state is DISCARD:
            if self._discarded > MAX_DISCARD:
                session.end()
        elif body.buffered > MAX_BODY_AHEAD:
            self._stop_reading()

    def poison(self, failure: BodyError) -> None:
        """Fail the rest of the body; no further request is read."""
        self.parser = None
        self.buffer = b""
        if self.body is not None:
            self.body.fail(failure)
        if self.session.state is DISCARD:
            self.session.end()
        self.is_poisoned = True

    def abandon(self) -> bool:
        """Fail a body that has not ended, as the client is gone; return True if there was one."""
        self.parser = None
        if self.body is None or self.body.ended:
            return False
        self.body.fail(unreadable(400, "(104)Connection reset by peer"))
        return True


def unreadable(status: int, cause: str) -> BodyError:
    """Return the failure of a body that ends early because of *cause*."""
    return BodyError(status, LogMessage("", "", "", cause))
