"""Relays to the processes of applications: an answer is known by the head of the application's response.

Requests are known by what the phases read of them. The other fields are filled into the variables, each in
the place of its value (pattern.py). A response without Content-Length is sent in chunks as it arrives
(stream.py).
"""

from __future__ import annotations

import re
from functools import partial
from time import time
from typing import Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.backends.fastcgi import END_STDIN, FastcgiRole
from whimbrel.engine.env import WatchedEnv
from whimbrel.engine.log.error_log_format import log_id
from whimbrel.engine.relay.cache import RelayEntry, RelayOffer
from whimbrel.engine.relay.relay import RelayClient
from whimbrel.engine.request import Request
from whimbrel.http.syntax.head_shape import SplitHead
from whimbrel.modules.support.backend_relay import (
    MAX_SENT,
    BackendRelayExchange,
    LearnedRelay,
    may_relay,
    offer,
)
from whimbrel.modules.wsgi.mod_wsgi.connect import pool_to
from whimbrel.modules.wsgi.mod_wsgi.pattern import VariablePattern, variable_pattern
from whimbrel.modules.wsgi.mod_wsgi.processes import WsgiPlace
from whimbrel.modules.wsgi.mod_wsgi.records import (
    END_PARAMS,
    HEADER,
    PARAMS,
    WsgiReader,
    begin,
    beginning_key,
    output_key,
)
from whimbrel.modules.wsgi.mod_wsgi.stream import RelayedBody

# Fields with which more than the head decides about the response: the clock, files, the status. With ETag,
# the conditions of the request are relevant fields.
_OWN_RULES: Final = re.compile(
    rb"(?i)^(?:date|expires|last-modified|location|warning|content-range"
    rb"|transfer-encoding|connection|keep-alive|upgrade|te|trailer)[ \t]*:|\r(?!\n)|\n\n|\0",
    re.M,
).search
_STATUS: Final = b"Status: 200 OK\r\n"
_LENGTH: Final = re.compile(rb"(?i)\ncontent-length: *[0-9]+\r\n").search
_BEGIN: Final = begin(FastcgiRole.RESPONDER, has_body=False)
_END: Final = END_PARAMS + END_STDIN


class WsgiRelayReader(WsgiReader):
    """A reader that keeps what shows whether an answer may be relayed the next time.

    Attributes:
        received: an answer that arrived in one piece, b"" for every other; None before the first bytes.
        streamed: the head of an answer that began with it, b"" for every other.
    """

    __slots__ = ("received", "streamed")

    def __init__(self, max_line: int) -> None:
        super().__init__(max_line)
        self.received: bytes | None = None
        self.streamed = b""

    def feed(self, data: bytes) -> None:
        if self.received is None:
            self.received = data
            self.streamed = beginning_key(data) or b""
        else:
            self.received = b""
        super().feed(data)


class WsgiRelayExchange(BackendRelayExchange):
    """The exchange with a process; a `QueuedRequest` until it has a connection.

    Attributes:
        variables: those that depend only on the request. `relay`: its way.
        has_started: the request was sent.
    """

    __slots__ = ("has_started", "relay", "variables")
    relay: WsgiRelay
    variables: bytes
    has_started: bool

    def is_waiting(self) -> bool:
        return self._client is not None

    def start(self, connection: BackendConnection | None) -> None:
        """See QueuedRequest; without a connection the general path goes on."""
        if connection is None:
            self.set(None)
            return
        self.connection = connection
        self.has_started = True
        connection.relay(self, self.sent, self.relay.timeout)
        connection.write_gathered()  # at once: it goes to a thread of its own

    def close(self) -> None:
        if self.has_started:
            super().close()
        self._client = None

    def receive(self, data: bytes) -> bool:
        found = output_key(data)
        if found is None:
            return self._begins_stream(data)
        head, body, keeps = found
        reply = self.request.replies.get(head)
        if reply is None:
            return False
        if reply.template.is_chunked:
            if not body:
                return False
        elif reply.template.size != len(body):
            return False
        self.body = body
        self.reply = reply
        self.date = b""
        self.pass_on(b"", is_reusable=keeps)
        return True

    def _begins_stream(self, data: bytes) -> bool:
        """Send what follows a known head to the client as it arrives; return False for every other answer."""
        head = beginning_key(data)
        reply = None if head is None else self.request.replies.get(head)
        client = self._client
        if reply is None or client is None or not reply.template.is_chunked:
            return False
        self._client = None
        self.reply = reply
        self.relay.stream(self, client, data)
        return True


class WsgiRelay(LearnedRelay):
    """A request to an application: the pattern of the variables, into which those of each request are filled;
    those that no other request has follow.

    Attributes:
        path: of the socket. `timeout`: seconds that the process may be silent.
    """

    __slots__ = ("_fill", "_group", "_max_line", "_pattern", "_pool", "path", "timeout")
    fills_in = True

    def __init__(
        self, r: Request, place: WsgiPlace, pattern: VariablePattern, timeout: float, max_line: int
    ) -> None:
        super().__init__()
        self._pool = pool_to(r.engine, place.path, place.capacity)
        self.path = place.path
        self._pattern = pattern.text
        self._fill = pattern.fill
        self.timeout = timeout
        self._group = r.env["mod_wsgi.process_group"]
        self._max_line = max_line

    def send(
        self, request: RelayEntry, head: SplitHead, client: RelayClient, now: float
    ) -> WsgiRelayExchange | None:
        connection = self._pool.take()
        if connection is None and not self._pool.is_full():
            return None
        peer = client.connection
        variables = self._fill(self._pattern, head[1], peer.client_text, b"%d" % peer.client_port)
        own = own_variables(now, log_id(), is_embedded=not self._group)
        size = HEADER.pack(1, PARAMS, 1, len(variables) + len(own), 0)
        data = b"%b%b%b%b%b" % (_BEGIN, size, variables, own, _END)
        exchange = WsgiRelayExchange(request, head, client, connection, data, now)
        exchange.relay = self
        exchange.variables = variables
        exchange.has_started = False
        if connection is not None:
            exchange.start(connection)
        elif not self._pool.enqueue(exchange):
            return None
        return exchange

    def stream(self, exchange: WsgiRelayExchange, client: RelayClient, data: bytes) -> None:
        """Send the answer that begins with *data* to *client* as it arrives."""
        reader = WsgiReader(self._max_line)
        exchange.connection.read_by(reader, data, None)
        client.stream_relay(exchange, RelayedBody(exchange, client.connection, self._group))


def own_variables(
    received: float, identifier: str, connects: int = 1, restarts: int = 0, *, is_embedded: bool
) -> bytes:
    """Return the variables that no other request has, behind those of `variable_text`.

    *received*: when the request arrived; *identifier*: its number in logs; *connects*, *restarts*: attempts.
    """
    text = b"\0mod_wsgi.request_start\0%d\0mod_wsgi.request_id\0%b" % (
        received * 1_000_000,
        identifier.encode("latin-1"),
    )
    if is_embedded:
        return text
    return b"%b\0mod_wsgi.queue_start\0%d\0mod_wsgi.daemon_connects\0%d\0mod_wsgi.daemon_restarts\0%d" % (
        text,
        time() * 1_000_000,
        connects,
        restarts,
    )


def offer_relay(
    r: Request, place: WsgiPlace, variables: bytes, timeout: float, reader: WsgiRelayReader
) -> None:
    """Let requests like *r* be relayed to the processes at *place*, if the answer that *reader* has read came
    before.

    *variables* are those that depend only on the request and the settings.
    """
    if not may_relay(r) or len(variables) > MAX_SENT or r.env.__class__ is not dict:
        return
    found = output_key(reader.received or b"")
    head = reader.streamed if found is None else found[0]
    if not head.startswith(_STATUS) or _OWN_RULES(head) is not None:
        return
    is_streamed = _LENGTH(head) is None
    if is_streamed and not r.engine.error_log.is_default(r.server):
        return
    if found is None and not is_streamed or is_streamed and found is not None and not found[1]:
        return
    pattern = variable_pattern(r, variables)
    if pattern is None:
        return
    make = partial(WsgiRelay, r, place, pattern, timeout, reader.max_line)
    offer(r, (place.path, pattern.text, pattern.holes, pattern.shape), head, make, is_streamed=is_streamed)
    if isinstance(r.relay, RelayOffer):
        r.env = WatchedEnv(r.env, pattern.variables)


def is_same(relay: WsgiRelayExchange, path: str, variables: bytes) -> bool:
    """Return True if *relay* has sent *variables* to the socket at *path*."""
    return relay.relay.path == path and relay.variables == variables


def taken_relay(r: Request) -> WsgiRelayExchange | None:
    """Return the relay that has sent *r*; None without one. The caller continues or closes it."""
    relay = r.connection.exchange
    if not isinstance(relay, WsgiRelayExchange):
        return None
    r.connection.exchange = None
    r.time = relay.time
    return relay
