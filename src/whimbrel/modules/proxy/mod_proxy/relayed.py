"""Exchanges of relayed requests: what the schemes share.

An answer is recognized if it arrives in one piece, or the rest of it soon after its head. With every other
answer, with a failure, and where the client is gone, the general path takes over
(`RelayedExchange.continue_as`).
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from whimbrel.backends.connection import RelayReader

if TYPE_CHECKING:
    from whimbrel.backends.connection import BackendConnection
    from whimbrel.engine.cache.entry import CachedResponse
    from whimbrel.engine.relay.relay import RelayClient
    from whimbrel.engine.relay.relayed_request import RelayedRequest
    from whimbrel.http.client.answer import AnswerReader
    from whimbrel.modules.proxy.mod_proxy.worker_state import ProxyWorkerState


# seconds after which the general path passes on what has arrived of an answer
REST_WAIT: Final = 0.005
MAX_PARTIAL: Final = 64 * 1024  # bytes of an answer of which a part waits for the rest


class RelayedExchange(RelayReader):
    """One relayed request: reader of the answer, and what the connection to the back end resumes.

    As a reader it has no head and is never done: an answer that is recognized ends the exchange.

    Attributes:
        connection: to the back end, whose state is `state`. `sent`: the bytes of the request.
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
        "sent",
        "state",
        "time",
    )
    reply: CachedResponse
    body: bytes
    date: bytes
    head = None
    done = False
    reusable = False
    rest = b""
    _buffered = 0
    _timer: asyncio.TimerHandle

    def __init__(
        self,
        request: RelayedRequest,
        client: RelayClient,
        connection: BackendConnection,
        state: ProxyWorkerState,
        sent: bytes,
        now: float,
    ) -> None:
        self.request = request
        self.connection = connection
        self.sent = sent
        self.time = now
        self._client: RelayClient | None = client
        self.state = state
        self.data = b""
        self.cause: str | None = None

    def feed(self, data: bytes) -> None:
        """See AnswerReader."""
        self.data += data

    @abstractmethod
    def receive(self, data: bytes) -> bool:
        """See RelayReader; call `pass_on` with an answer that came before."""

    def pass_on(self, response: bytes, *, is_reusable: bool) -> None:
        """Send `reply` to the client; *response*: see `RelayClient.relayed`."""
        client, self._client = self._client, None
        self.state.count(len(self.sent), len(self.body))
        self.connection.complete(is_reusable=is_reusable)
        if client is not None:
            client.relayed(self, response)

    def wait_for_rest(self, data: bytes) -> None:
        """Wait for a moment for the rest of an answer that begins with *data*.

        Back ends write head and body apart, microseconds from each other.
        """
        if not self.data:
            self._timer = asyncio.get_running_loop().call_later(REST_WAIT, self.set, None)
        self.data = data
        self.connection.receive_more(self)

    def eof(self, cause: str = "") -> None:
        """See AnswerReader."""
        self.cause = cause

    def set(self, _value: None) -> None:
        """Leave the answer to the general path, unless it was passed on."""
        client, self._client = self._client, None
        if client is not None:
            client.unrelayed(self)

    def cancel(self) -> None:
        """See RelayExchange."""
        self.set(None)

    def close(self) -> None:
        """See RelayExchange."""
        self._client = None
        self.connection.close()
        self.connection.finish()

    def continue_as(self, reader: AnswerReader) -> bool:
        """Let *reader* read the answer; return True if there is something of it, or it has failed."""
        connection = self.connection
        connection.read_by(reader, self.data, self.cause)
        return bool(self.data) or connection.failure is not None or self.cause is not None
