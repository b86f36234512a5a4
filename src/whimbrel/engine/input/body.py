"""Request bodies as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.line_reader import LogMessage

if TYPE_CHECKING:
    from asyncio import Future

    from whimbrel.engine.request import Request


CODE_ANNOUNCED: Final = "AH01588"
# note of a request whose handler reads what has arrived before it waits: a client whose body came with the
# head gets no 100 Continue
EARLY_BODY_NOTE: Final = "early-body"


def too_large(limit: int, *, announced: int = 0, read: int = 0) -> BodyError:
    """Return the refusal of a body beyond LimitRequestBody: by its *announced* length, or after *read* bytes.

    2.2 logs the first at level error (see `level_of`).
    """
    if announced:
        return BodyError(
            413,
            LogMessage(
                "info",
                CODE_ANNOUNCED,
                f"Requested content-length of {announced} is larger than the configured limit of {limit}",
                module="http",
            ),
        )
    return BodyError(
        413,
        LogMessage(
            "info",
            "AH01591",
            f"Read content length of {read} is larger than the configured limit of {limit}",
            module="http",
        ),
    )


def level_of(reason: LogMessage, *, version22: bool) -> str:
    """Return the level at which a version logs the refusal of a body; "" if it does not."""
    return "error" if version22 and reason.code == CODE_ANNOUNCED else reason.level


def body_limit(r: Request) -> int:
    """Return LimitRequestBody, 0 for none; it does not apply to proxied requests (ap_http_filter)."""
    return 0 if r.proxy else r.plan.body_limit


class RequestBody:
    """The body of a request as it arrives: the connection feeds it, a handler reads it.

    Attributes:
        length: Content-Length; None if the body is chunked.
        limit: LimitRequestBody in bytes, 0 for none; it counts the bytes on the wire, before input filters.
        count: number of bytes that were read.
        on_demand: called at the first read of a body that has not arrived: sends 100 Continue and resumes
            reading.
        failure: the error because of which the rest cannot be read; `failure_reported`: a reader has
            received it.
        trailers: the fields after the last chunk.
        framing: bytes of chunk sizes and trailers, once the body is complete.
        is_filtered: it is read through an input filter.
    """

    is_filtered = False
    __slots__ = (
        "_chunks",
        "_done",
        "_waiter",
        "count",
        "failure",
        "framing",
        "length",
        "failure_reported",
        "limit",
        "on_demand",
        "received",
        "trailers",
    )

    def __init__(self, length: int | None = 0, on_demand: Callable[[], None] | None = None) -> None:
        self.length = length  # None: chunked
        self.on_demand = on_demand
        self.limit = 0
        self.received = 0
        self.count = 0
        self.framing = 0
        self.trailers: Headers | None = None  # the fields behind the last chunk
        self._chunks: list[bytes] = []
        self._done = length == 0
        self.failure: BodyError | None = None
        self.failure_reported = False
        self._waiter: Future[None] | None = None

    @property
    def ended(self) -> bool:
        """Return True if the last byte has arrived."""
        return self._done

    @property
    def buffered(self) -> int:
        """Return the number of bytes that have arrived and were not read."""
        return sum(map(len, self._chunks))

    def take_buffered(self) -> bytes:
        """Return the bytes that have arrived and were not read, which are the caller's now."""
        data = b"".join(self._chunks)
        self._chunks.clear()
        return data

    def feed(self, data: bytes) -> None:
        """Bytes from the connection."""
        self.received += len(data)
        self._chunks.append(data)
        self._wake()

    def end(self) -> None:
        """The body is complete."""
        self._done = True
        self._wake()

    def fail(self, failure: BodyError) -> None:
        """The body cannot be read any further."""
        self.failure = failure
        self._done = True
        self._wake()

    def refused(self, failure: BodyError) -> BodyError:
        """Return a handler will not have it, since it is larger than allowed; gives *failure* back."""
        self.failure_reported = True
        if self.failure is None:
            self.failure = failure
        return failure

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def read(self) -> bytes:
        """Return the next bytes, b"" at the end; raise BodyError, 413 beyond `limit`.

        A body that was refused as too large ends there: the program of an ErrorDocument reads nothing.
        """
        if self.failure_reported and self.failure is not None and self.failure.status == 413:
            return b""
        if self.limit and self.count == 0:
            self.check_announced()
        while not self._chunks:
            if self.failure is not None:
                self.failure_reported = True
                raise self.failure
            if self._done:
                return b""
            if self.on_demand is not None:
                self.on_demand()
                if self._chunks or self._done:
                    continue
            from asyncio import get_running_loop  # imported late: it costs 40 ms, and -t never reads a body

            self._waiter = get_running_loop().create_future()
            await self._waiter
        data = b"".join(self._chunks)
        self._chunks.clear()
        self.count += len(data)
        if self.limit and self.count > self.limit:
            raise self.refused(too_large(self.limit, read=self.count))
        return data

    @property
    def keeps_length(self) -> bool:
        """True if no input filter changes the length."""
        return True

    def check_announced(self) -> None:
        """Raise BodyError(413) if Content-Length exceeds `limit`."""
        if self.limit and (self.length or 0) > self.limit:
            raise self.refused(too_large(self.limit, announced=self.length or 0))

    async def read_all(self) -> bytes:
        """Return the rest of the body; raise BodyError."""
        out = []
        while data := await self.read():
            out.append(data)
        return b"".join(out)

    def close(self) -> None:
        """Release what filters of the body hold: the response was sent."""

    async def discard(self) -> None:
        """Read the rest of the body and discard it; raise BodyError."""
        while await self.read():
            pass


def ready_body(data: bytes) -> RequestBody:
    """Return a body that has arrived completely."""
    body = RequestBody(len(data))
    if data:
        body.feed(data)
    body.end()
    return body


def invalid_length_body() -> RequestBody:
    """Return the body of a request whose Content-Length is no number: 2.2 refuses it when it is read."""
    body = RequestBody(None)
    body.fail(BodyError(400, LogMessage("error", "", "Invalid Content-Length"), endless=True))
    return body
