"""Relayed requests of a connection: to the back end and back without a `Request` (engine/relay/relay.py)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from whimbrel.engine.cache.entry import LARGE_THRESHOLD
from whimbrel.http.http1.response import LAST_CHUNK, chunk
from whimbrel.http.syntax.head import Head, HeadReader, read_complete
from whimbrel.server.http1.writer import BUSY, READY, ConnectionState, ResponseWriter
from whimbrel.server.worker.accounting import account_relayed
from whimbrel.server.worker.state import FOREVER, WorkerState

if TYPE_CHECKING:
    from whimbrel.engine.relay.cache import RelayEntry
    from whimbrel.engine.relay.relay import DeferredWriter, RelayExchange


class RelayPath(ResponseWriter):
    """Protocol base that relays requests; a `RelayClient`."""

    __slots__ = ("_buffer", "_head", "_last_raw", "_reading", "_relays")

    def __init__(self, service: WorkerState) -> None:
        super().__init__(service)
        self._relays: dict[bytes, RelayEntry] = {}
        self._head: Head | None = None
        self._buffer = b""
        self._reading = True
        # the head, unparsed, of the request that is relayed, or that the last response answers from the cache
        self._last_raw = b""

    @abstractmethod
    def _start_request(self, head: Head) -> None:
        """Begin the request whose head is at the front of the buffer."""

    def _relay(self, request: RelayEntry) -> bool:
        """Send *request* to its back end; return False if the general path has to."""
        self.connection.is_draining = False
        exchange = request.relay.send(request, self, self.service.now)
        if exchange is None:
            return False
        self._state = BUSY
        self._has_final_head = False
        self.deadline = FOREVER
        self._last_raw = request.raw
        self._task = exchange
        return True

    def gather(self, connection: DeferredWriter) -> None:
        """See RelayClient."""
        self.service.gathering.append(connection)

    def finish_relay(self, exchange: RelayExchange, response: bytes) -> None:
        """See RelayClient."""
        service = self.service
        if response:
            if service.in_tick:
                self._gather(response)
            elif not self._transport.is_closing():
                self._transport.write(response)
        else:
            if self._gathered:
                self.write_gathered()
            self._write_reply(exchange)
        account_relayed(service, self.connection, exchange)
        self._last_raw = b""
        if self._state is BUSY:
            if self._buffer or self._eof or not self._reading or service.stopping:
                self._answered()
                self._process_buffer()
                return
            # as `_answered` does for a request without a body
            self._state = READY
            self._head = None
            self._task = None
            if not self._paused:
                self.deadline = service.clock + self._listener.keep_alive

    def _write_reply(self, exchange: RelayExchange) -> None:
        reply = exchange.reply
        body = exchange.body
        transport = self._transport
        if reply.chunked:
            reply.set_size(len(body))
            body = chunk(body) + LAST_CHUNK
        date = exchange.date or self.service.date_of(exchange.time)
        head = reply.serialize_head(self.connection, date, exchange.time)
        if not transport.is_closing():
            if len(body) < LARGE_THRESHOLD:
                transport.write(head + body)
            else:
                transport.writelines((head, body))

    def abandon_relay(self, exchange: RelayExchange) -> None:
        """See RelayClient; a client that is gone has its request ended and logged by the general path."""
        connection = self.connection
        is_gone = self._state is ConnectionState.LINGER
        self._last_raw = b""
        self._task = None
        head = self._parsed(exchange.request.raw)
        assert head is not None
        self._buffer = exchange.request.raw + self._buffer
        connection.exchange = exchange
        self._start_request(head)
        if connection.exchange is not None:  # the settings have changed: the request is not this one any more
            connection.exchange = None
            exchange.close()
        if is_gone:
            self._state = ConnectionState.LINGER
            if self._task is not None:
                self._task.cancel()
        else:
            self._process_buffer()

    def _parsed(self, raw: bytes) -> Head | None:
        """Return a head that was answered unparsed, for the scoreboard."""
        listener = self._listener
        head = read_complete(raw, listener.limits, listener.rules, listener.fields)
        return head or HeadReader(raw, listener.limits, listener.rules).read()
