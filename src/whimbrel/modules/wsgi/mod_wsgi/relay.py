"""Relays to the processes of applications: an answer is known by the head of the application's response."""

from __future__ import annotations

import re
from functools import partial
from time import time
from typing import TYPE_CHECKING, Final

from whimbrel.backends.fastcgi import END_STDIN, FastcgiRole
from whimbrel.engine.log.error_log_format import log_id
from whimbrel.modules.support.backend_relay import (
    MAX_SENT,
    BackendRelayExchange,
    LearnedRelay,
    may_relay,
    offer,
)
from whimbrel.modules.wsgi.mod_wsgi.connect import pool_to
from whimbrel.modules.wsgi.mod_wsgi.records import (
    END_PARAMS,
    HEADER,
    PARAMS,
    WsgiReader,
    begin,
    output_key,
)

if TYPE_CHECKING:
    from whimbrel.backends.connection import BackendConnection
    from whimbrel.engine.relay.cache import RelayEntry
    from whimbrel.engine.relay.relay import RelayClient
    from whimbrel.engine.request import Request
    from whimbrel.modules.wsgi.mod_wsgi.processes import WsgiPlace

# Fields with which more than the head decides about the response: the clock, files, the status.
_OWN_RULES: Final = re.compile(
    rb"(?i)^(?:date|expires|last-modified|etag|location|warning|vary|content-range"
    rb"|transfer-encoding|connection|keep-alive|upgrade|te|trailer)[ \t]*:|\r(?!\n)|\n\n|\0",
    re.M,
).search
_STATUS: Final = b"Status: 200 OK\r\n"
_LENGTH: Final = re.compile(rb"(?i)\ncontent-length: *[0-9]+\r\n").search
_PORT: Final = re.compile(rb"\0REMOTE_PORT\0([0-9]+)(?=\0)")
_BEGIN: Final = begin(FastcgiRole.RESPONDER, has_body=False)
_END: Final = END_PARAMS + END_STDIN
Parts = tuple[bytes, bytes]


class WsgiOnePieceReader(WsgiReader):
    """A reader that keeps an answer which arrives in one piece: `received`, b"" for every other."""

    __slots__ = ("received",)

    def __init__(self, max_line: int) -> None:
        super().__init__(max_line)
        self.received: bytes | None = None

    def feed(self, data: bytes) -> None:
        """See AnswerReader."""
        self.received = data if self.received is None else b""
        super().feed(data)


class WsgiRelayExchange(BackendRelayExchange):
    """The exchange with a process; a `QueuedRequest` until it has a connection.

    Attributes:
        key: the path of the socket, and the parts of `WsgiRelay`.
        timeout: seconds that the process may be silent.
        has_started: the request was sent.
    """

    __slots__ = ("has_started", "key", "timeout")
    key: tuple[str, bytes, bytes]
    timeout: float
    has_started: bool

    def is_waiting(self) -> bool:
        """See QueuedRequest."""
        return self._client is not None

    def start(self, connection: BackendConnection | None) -> None:
        """See QueuedRequest; without a connection the general path goes on."""
        if connection is None:
            self.set(None)
            return
        self.connection = connection
        self.has_started = True
        connection.relay(self, self.sent, self.timeout)
        connection.write_gathered()  # at once: it goes to a thread of its own

    def close(self) -> None:
        """See RelayExchange."""
        if self.has_started:
            super().close()
        self._client = None

    def receive(self, data: bytes) -> bool:
        """See BackendRelayExchange."""
        found = output_key(data)
        if found is None:
            return False
        head, body, keeps = found
        reply = self.request.replies.get(head)
        if reply is None or reply.template.size != len(body):
            return False
        self.body = body
        self.reply = reply
        self.date = b""
        self.pass_on(b"", is_reusable=keeps)
        return True


class WsgiRelay(LearnedRelay):
    """A request to an application: the variables around the client's port, the only ones that differ by
    connection; those that each request has of its own follow.
    """

    __slots__ = ("_is_embedded", "_parts", "_path", "_pool", "_timeout")

    def __init__(
        self, r: Request, place: WsgiPlace, parts: Parts, timeout: float, *, is_embedded: bool
    ) -> None:
        super().__init__()
        self._pool = pool_to(r.engine, place.path, place.capacity)
        self._path = place.path
        self._parts = parts
        self._timeout = timeout
        self._is_embedded = is_embedded

    def send(self, request: RelayEntry, client: RelayClient, now: float) -> WsgiRelayExchange | None:
        """See Relay.send."""
        connection = self._pool.take()
        if connection is None and not self._pool.is_full():
            return None
        before, after = self._parts
        content = b"%b%d%b%b" % (
            before,
            client.connection.client_port,
            after,
            own_variables(now, log_id(), is_embedded=self._is_embedded),
        )
        data = b"%b%b%b%b" % (_BEGIN, HEADER.pack(1, PARAMS, 1, len(content), 0), content, _END)
        exchange = WsgiRelayExchange(request, client, connection, data, now)
        exchange.key = (self._path, before, after)
        exchange.timeout = self._timeout
        exchange.has_started = False
        if connection is not None:
            exchange.start(connection)
        elif not self._pool.enqueue(exchange):
            return None
        return exchange


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
    r: Request, place: WsgiPlace, variables: bytes, timeout: float, reader: WsgiOnePieceReader
) -> None:
    """Let *r* be relayed to the processes at *place*, if the answer that *reader* has read came before.

    *variables* are those that depend only on the head of *r*, its client and the settings.
    """
    if not may_relay(r) or len(variables) > MAX_SENT or r.env.__class__ is not dict or not reader.received:
        return
    found = output_key(reader.received)
    parts = around_port(variables)
    if found is None or parts is None:
        return
    head = found[0]
    if not head.startswith(_STATUS) or _LENGTH(head) is None or _OWN_RULES(head) is not None:
        return
    is_embedded = not r.env["mod_wsgi.process_group"]
    make = partial(WsgiRelay, r, place, parts, timeout, is_embedded=is_embedded)
    offer(r, (place.path, *parts), head, make)


def is_same(relay: WsgiRelayExchange, path: str, variables: bytes) -> bool:
    """Return True if *relay* has sent *variables* to the socket at *path*."""
    parts = around_port(variables)
    return parts is not None and relay.key == (path, *parts)


def taken_relay(r: Request) -> WsgiRelayExchange | None:
    """Return the relay that has sent *r*; None without one. The caller continues or closes it."""
    relay = r.connection.exchange
    if not isinstance(relay, WsgiRelayExchange):
        return None
    r.connection.exchange = None
    r.time = relay.time
    return relay


def around_port(variables: bytes) -> Parts | None:
    """Return the bytes around the client's port; None if they may have it elsewhere too."""
    found = _PORT.findall(variables)
    if len(found) != 1 or variables.count(b"REMOTE_PORT") != 1:
        return None
    match = _PORT.search(variables)
    assert match is not None
    return variables[: match.start(1)], variables[match.end(1) :]
