"""Relays of a connection of HTTP/1: to the back end and back without a `Request` (engine/relay/relay.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.engine.cache.cached_head import CachedHeadResponse
from whimbrel.engine.relay.cache import RelayTable
from whimbrel.http.http1.response import LAST_CHUNK, chunk
from whimbrel.http.syntax.head_shape import HeadShapes
from whimbrel.server.http1.state import BEGIN, BUSY, LINGER
from whimbrel.server.worker.accounting import account_relay

if TYPE_CHECKING:
    from whimbrel.engine.body import Source
    from whimbrel.engine.relay.cache import RelayHit
    from whimbrel.engine.relay.relay import DeferredWriter, RelayExchange
    from whimbrel.server.http1.connection import Http1Connection


class Relayer:
    """Relays requests; a `RelayClient`.

    Attributes:
        table: the requests that may be relayed
    """

    __slots__ = ("connection", "session", "table")

    def __init__(self, session: Http1Connection) -> None:
        self.session = session
        self.connection = session.connection
        self.table = session.service.engine.relays.table(self.connection)

    def disable(self) -> None:
        """Relay nothing more."""
        self.table = RelayTable(HeadShapes())

    def relay(self, data: bytes) -> bool:
        """Relay the request whose head is *data* if these bytes came before; False if impossible."""
        hit = self.table.by_head.get(data)
        return hit is not None and self._send(hit)

    def relay_filled(self, data: bytes) -> bool:
        """Send the request whose head is *data* to its back end, if one with the same relevant fields came
        before; return False if that is not possible.
        """
        table = self.table
        hit = table.find(self.connection, data, self.session.listener.limits)
        return hit is not None and self._send(hit)

    def _send(self, hit: RelayHit) -> bool:
        session = self.session
        service = session.service
        connection = self.connection
        request, head = hit
        if not request.is_valid(connection, service.engine.plans, service.tick):
            return False
        connection.is_draining = False
        exchange = request.relay.send(request, head, self, service.now)
        if exchange is None:
            return False
        session.change(BEGIN)
        session.last_raw = head[0]
        session.task = exchange
        return True

    def gather(self, connection: DeferredWriter) -> None:
        self.session.service.gathering.append(connection)

    def finish_relay(self, exchange: RelayExchange, response: bytes) -> None:
        """See RelayClient."""
        session = self.session
        service = session.service
        if not response:
            self._write_reply(exchange)
        elif service.in_tick:
            session.sender.send_small(response)
        else:
            transport = session.sender.transport
            if not transport.is_closing():
                transport.write(response)
        account_relay(service, self.connection, exchange)
        session.last_raw = b""
        if session.state is BUSY:
            session.answered()
            session.process()

    def stream_relay(self, exchange: RelayExchange, body: Source) -> None:
        """See RelayClient."""
        session = self.session
        session.last_raw = b""
        session.head = session.input.parse(exchange.request_head[0])
        session.sender.has_final_head = True
        hit = (exchange.reply, exchange.request_head)
        session.sender.stream(CachedHeadResponse(hit, body, self.connection, exchange.time))

    def _write_reply(self, exchange: RelayExchange) -> None:
        reply = exchange.reply
        body = exchange.body
        if reply.template.is_chunked:
            reply.set_size(len(body))
            body = chunk(body) + LAST_CHUNK
        date = exchange.date or self.session.service.date_of(exchange.time)
        head = reply.template.serialize_head(self.connection.served, date, exchange.time)
        self.session.sender.write(head, body)

    def abandon_relay(self, exchange: RelayExchange) -> None:
        """See RelayClient; a client that is gone has its request ended and logged by the general path."""
        session = self.session
        connection = self.connection
        is_gone = session.state is LINGER
        session.last_raw = b""
        session.task = None
        raw = exchange.request_head[0]
        session.input.buffer = raw + session.input.buffer
        head = session.input.parse(raw)
        assert head is not None
        connection.exchange = exchange
        session.respond(head)
        if connection.exchange is not None:  # the settings have changed: the request is not this one any more
            connection.exchange = None
            exchange.close()
        if is_gone and session.task is not None:
            session.task.cancel()
        session.process()
