"""Response of the engine, for the protocol that sends it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from whimbrel.engine.body import Part

if TYPE_CHECKING:
    from whimbrel.engine.output.field_slots import HeadPiece
    from whimbrel.engine.request import Request


DATE_BYTES: Final = 29  # of an HTTP date


class Framing(Enum):
    """How the end of a body is marked."""

    LENGTH = "Content-Length, or no body"
    CHUNKED = "chunks"
    CLOSE = "the end of the connection"


class Response:
    """One finished response.

    The head is `head_prefix`, the value of Date, `head_suffix`; a response to HTTP/0.9 has neither.  `slots`
    are the pieces of `head_suffix` if values in it change with each use (see output/field_slots.py).  The
    body is `parts`; the sender closes files and sources in it.  `received_at` is the time of the request in
    seconds since the epoch, which Date shows.  `date` is the Date field that an origin server has set, or
    b"".  `is_malformed`: a field must not be sent, which resets a stream of HTTP/2.  After sending, call
    `on_sent` with the size of the body, which writes the access log.
    """

    __slots__ = (
        "head_suffix",
        "head_prefix",
        "received_at",
        "close",
        "date",
        "framing",
        "is_malformed",
        "parts",
        "request",
        "slots",
    )

    def __init__(
        self,
        request: Request,
        before: bytes,
        after: bytes,
        parts: list[Part],
        *,
        close: bool,
        framing: Framing = Framing.LENGTH,
        slots: tuple[HeadPiece, ...] = (),
        date: bytes = b"",
    ) -> None:
        self.request = request
        self.head_prefix = before
        self.head_suffix = after
        self.parts = parts
        self.close = close
        self.framing = framing
        self.received_at = request.time
        self.slots = slots
        self.date = date
        self.is_malformed = False

    def head(self, date: bytes) -> bytes:
        """Return the head with *date*, the value of Date for `received_at`."""
        return self.head_prefix + (self.date or date) + self.head_suffix if self.head_prefix else b""

    def on_sent(self, count: int, more: int = 0) -> None:
        """Say that the response is out, or cannot be sent any further: the last phase, log_transaction, runs.

        The body has *count* bytes; *more* went out beside head and body (marks of chunks), or fewer where it
        is negative.
        """
        self.request.engine.on_response_sent(self.request, count, self, more)
