"""Interfaces of relays, for connections of clients, the engine and the modules that speak to back ends.

The connection of a client calls `Relay.send` for a head that it knows. The `RelayExchange` ends in one of two
calls of its `RelayClient`: `finish_relay`, or `abandon_relay` where the answer is of a kind that only the
general path handles. The general path then takes the exchange over: nothing is sent a second time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

if TYPE_CHECKING:
    from whimbrel.engine.body import Source
    from whimbrel.engine.cache.entry import CachedResponse
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.relay.cache import RelayEntry
    from whimbrel.http.syntax.head_shape import SplitHead


RELAYABLE: Final = "relayable"  # `Request.relay`: nothing before the handler forbids to relay equal requests


class RelayExchange(Protocol):
    """A request that was sent, and what has arrived of its answer.

    Attributes:
        request: what was sent. `request_head`: its head; `time`: when that arrived, seconds since the epoch.
        reply: the response, set before `finish_relay` is called. `body`: its body.
        date: the Date field of the origin server, b"" if it has sent none; unset where `finish_relay` is
            given the bytes of the response.
    """

    request: RelayEntry
    request_head: SplitHead
    time: float
    reply: CachedResponse
    body: bytes
    date: bytes

    def cancel(self) -> None:
        """The client is gone: end in `RelayClient.abandon_relay`."""

    def close(self) -> None:
        """Close the connection to the back end: no answer is wanted any more."""


class DeferredWriter(Protocol):
    """A connection with bytes that are written at the end of the tick."""

    def write_gathered(self) -> None:
        """Write them."""


class RelayClient(Protocol):
    """The protocol of a client's connection."""

    connection: Connection

    def gather(self, connection: DeferredWriter) -> None:
        """Call `write_gathered` of *connection* at the end of the tick.

        The other process is then woken up once for many messages, and sees them together.
        """

    def finish_relay(self, exchange: RelayExchange, response: bytes) -> None:
        """Send `exchange.reply` to the client; *response*: its bytes, b"" if body and date make them."""

    def stream_relay(self, exchange: RelayExchange, body: Source) -> None:
        """Send the head of `exchange.reply` to the client, and *body* in chunks."""

    def abandon_relay(self, exchange: RelayExchange) -> None:
        """Answer the request in the general way, which takes *exchange* over."""


class Relay(ABC):
    """The way of equal requests to a back end.

    Attributes:
        fills_in: each request is sent with the values of its own head; else the heads are the same to the
            byte.
    """

    __slots__ = ()
    fills_in: ClassVar[bool] = False

    @abstractmethod
    def send(
        self, request: RelayEntry, head: SplitHead, client: RelayClient, now: float
    ) -> RelayExchange | None:
        """Send *request*, whose *head* arrived at *now*; None if the general path has to."""
