"""Relays to back ends: what the modules that have some share.

An answer is recognized if it arrives in one piece, or the rest of it soon after its head. With every other
answer, with a failure, and where the client is gone, the general path takes over
(`BackendRelayExchange.continue_as`).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

from whimbrel.backends.connection import BackendConnection, RelayReader
from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.doorkeeper import Doorkeeper
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.relay.cache import RelayEntry, RelayOffer
from whimbrel.engine.relay.relay import RELAYABLE, Relay, RelayClient
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import AnswerReader
from whimbrel.http.syntax.head_shape import SplitHead

# seconds after which the general path passes on what has arrived of an answer
REST_WAIT: Final = 0.005
MAX_PARTIAL: Final = 64 * 1024  # bytes of an answer of which a part waits for the rest
MAX_SENT: Final = 16384  # bytes of a request
MAX_RELAYS: Final = 256  # requests of each plan; a full table is emptied
MAX_SEEN: Final = 64  # hashes of answers that came once to one request
NOTE: Final = "proxy relays"


class LearnedRelay(Relay):
    """The way of equal requests without a body to one back end; *seen*: answers that came once."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen = Doorkeeper(MAX_SEEN)


def may_relay(r: Request) -> bool:
    """Return True if nothing forbids that requests equal to *r* are relayed."""
    return (
        r.relay is RELAYABLE
        and r.method == "GET"
        and r.body_in.length == 0
        and r.user is None
        and not r.output_filters
        and not r.connection.is_http2
        and not r.engine.is_general_only
    )


def offer(
    r: Request,
    sent: tuple[Any, ...],
    answer: bytes,
    make: Callable[[], LearnedRelay],
    *,
    is_streamed: bool = False,
) -> None:
    """Let *r* be relayed, if both what was *sent* and the *answer* came before.

    *sent* identifies the bytes and the pool of their connection; *answer* is the key of the reply;
    *is_streamed*: see `RelayOffer`.
    """
    relays: BoundedDict[tuple[Any, ...], LearnedRelay] | None = r.plan.notes.get(NOTE)
    if relays is None:
        relays = BoundedDict(MAX_RELAYS)
        r.plan.notes[NOTE] = relays
    relay = relays.get(sent)
    if relay is None:
        relays[sent] = make()
    elif relay.seen.has_seen(hash(answer)):
        r.relay = RelayOffer(relay, answer, is_streamed)


class BackendRelayExchange(RelayReader):
    """A request that was relayed: reader of the answer, and what the connection to the back end resumes.

    As a reader it has no head and is never done: an answer that is recognized ends the exchange.

    Attributes:
        connection: to the back end. `sent`: the bytes of the request.
        data: what has arrived of an answer that is not complete or was not recognized.
        cause: see `AnswerReader.eof`; None before the end.
        others: see `engine/relay/relay.py`.
    """

    __slots__ = (
        "_client",
        "_timer",
        "body",
        "cause",
        "connection",
        "data",
        "date",
        "reply",
        "request",
        "request_head",
        "sent",
        "time",
    )
    connection: BackendConnection
    reply: CachedResponse
    body: bytes
    date: bytes
    request_head: SplitHead
    head = None
    done = False
    reusable = False
    rest = b""
    _buffered = 0
    _timer: asyncio.TimerHandle

    def __init__(
        self,
        request: RelayEntry,
        head: SplitHead,
        client: RelayClient,
        connection: BackendConnection | None,
        sent: bytes,
        now: float,
    ) -> None:
        self.request = request
        self.request_head = head
        if connection is not None:
            self.connection = connection
        self.sent = sent
        self.time = now
        self._client: RelayClient | None = client
        self.data = b""
        self.cause: str | None = None

    def feed(self, data: bytes) -> None:
        self.data += data

    @abstractmethod
    def receive(self, data: bytes) -> bool:
        """See RelayReader; call `pass_on` with an answer that came before."""

    def pass_on(self, response: bytes, *, is_reusable: bool) -> None:
        """Send `reply` to the client; *response*: see `RelayClient.finish_relay`."""
        client, self._client = self._client, None
        self.connection.complete(is_reusable=is_reusable)
        if client is not None:
            client.finish_relay(self, response)

    def wait_for_rest(self, data: bytes) -> None:
        """Wait for a moment for the rest of an answer that begins with *data*.

        Back ends write head and body apart, microseconds from each other.
        """
        if not self.data:
            self._timer = asyncio.get_running_loop().call_later(REST_WAIT, self.set, None)
        self.data = data
        self.connection.receive_more(self)

    @property
    def has_ended(self) -> bool:
        """Return True if another reader has the connection, or it is closed."""
        return self.connection.reader is not self

    def eof(self, cause: str = "") -> None:
        self.cause = cause

    def set(self, _value: None) -> None:
        """Leave the answer to the general path, unless it was passed on."""
        client, self._client = self._client, None
        if client is not None:
            client.abandon_relay(self)

    def cancel(self) -> None:
        self.set(None)

    def close(self) -> None:
        self._client = None
        self.connection.close()
        self.connection.finish()

    def continue_as(self, reader: AnswerReader) -> bool:
        """Let *reader* read the answer; return True if there is something of it, or it has failed."""
        connection = self.connection
        connection.read_by(reader, self.data, self.cause)
        return bool(self.data) or connection.failure is not None or self.cause is not None
