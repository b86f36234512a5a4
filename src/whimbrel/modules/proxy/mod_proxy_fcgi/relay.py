"""Relays to FastCGI applications: an answer is known by the head of the program's output."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from whimbrel.backends.fastcgi import FastcgiReader, complete_output, end_of_head
from whimbrel.modules.proxy.mod_proxy.relay import ProxyRelay, ProxyRelayExchange, may_offer
from whimbrel.modules.proxy.mod_proxy_fcgi.settings import FcgiDirConfig
from whimbrel.modules.support.backend_relay import MAX_SENT, offer

if TYPE_CHECKING:
    from whimbrel.engine.relay.cache import RelayEntry
    from whimbrel.engine.relay.relay import RelayClient
    from whimbrel.http.syntax.head_shape import SplitHead
    from whimbrel.modules.proxy.mod_proxy.program_exchange import ProgramExchange

# Fields with which more than the head decides about the response: the clock, files, the status.
_OWN_RULES: Final = re.compile(
    rb"(?i)^(?:date|expires|last-modified|etag|location|status|warning|vary|content-(?:length|range)"
    rb"|transfer-encoding|connection|keep-alive|upgrade|te|trailer)[ \t]*:|\r(?!\n)|\0",
    re.M,
).search
MAX_HEAD: Final = 2048  # bytes of the head of an output that is recognized


def output_key(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the key and the body of an answer that is complete and of the plain form; None for others."""
    output = complete_output(data)
    if output is None:
        return None
    stop = end_of_head(output, 0, MAX_HEAD)
    if stop < 0:
        return None
    body = output[stop:]
    return (output[:stop] if body else b"\0" + output[:stop]), body  # without a body the framing is another


class OnePieceReader(FastcgiReader):
    """A reader that keeps an answer which arrives in one piece: `received`, b"" for every other."""

    __slots__ = ("received",)
    received: bytes | None

    def feed(self, data: bytes) -> None:
        self.received = data if self.received is None else b""
        super().feed(data)


def one_piece_reader(*, keep: bool) -> OnePieceReader:
    """Return a reader; *keep*: see `begin_request`."""
    reader = OnePieceReader(keep=keep)
    reader.received = None
    return reader


class FcgiRelayExchange(ProxyRelayExchange):
    """The exchange with an application; *keeps*: it leaves the connection open."""

    __slots__ = ("keeps",)
    keeps: bool

    def receive(self, data: bytes) -> bool:
        found = output_key(data)
        reply = None if found is None else self.request.replies.get(found[0])
        if found is None or reply is None:
            return False
        self.body = found[1]
        self.reply = reply
        self.date = b""
        self.pass_on(b"", is_reusable=self.keeps)
        return True


class FcgiRelay(ProxyRelay):
    """A request to an application: the bytes around the client's port, where connections differ."""

    __slots__ = ("_digits", "_keeps", "_parts", "_path")

    def __init__(self, exchange: ProgramExchange, parts: tuple[bytes, bytes], *, keeps: bool) -> None:
        endpoint = exchange.route.endpoint
        super().__init__(exchange.call, exchange.backend, endpoint)
        self._digits = len(str(exchange.r.connection.client_port))
        self._parts = parts
        address = endpoint.addresses[0]
        self._path = address if isinstance(address, str) else ""
        self._keeps = keeps

    def send(
        self, request: RelayEntry, head: SplitHead, client: RelayClient, now: float
    ) -> FcgiRelayExchange | None:
        port = b"%d" % client.connection.client_port
        if len(port) != self._digits or not self._state.is_usable:
            return None
        connection = self._pool.take_idle()
        if connection is None:
            connection = self._pool.open_now(self._path) if self._path else None
            if connection is None:
                return None
        before, after = self._parts
        data = before + port + after
        exchange = FcgiRelayExchange(request, head, client, connection, self._state, data, now)
        exchange.keeps = self._keeps
        connection.relay(exchange, data, self._timeout)
        connection.write_gathered()
        return exchange


def offer_relay(exchange: ProgramExchange, sent: bytes, body: bytes, *, keeps: bool) -> None:
    """Let the request be relayed, if the bytes *sent* depend only on its head, its client and the settings,
    and the answer, with *body*, came before.
    """
    call = exchange.call
    r = exchange.r
    reader = exchange.reader
    if (
        not may_offer(call)
        or len(sent) > MAX_SENT
        or r.env.__class__ is not dict
        or r.path_info
        or r.dir_config(FcgiDirConfig).fixups
        or len(exchange.route.endpoint.addresses) != 1
        or not isinstance(reader, OnePieceReader)
        or not reader.received
    ):
        return
    found = output_key(reader.received)
    parts = _around_port(sent, r.connection.client_port)
    if found is None or found[1] != body or _OWN_RULES(found[0].removeprefix(b"\0")) or parts is None:
        return
    make = partial(FcgiRelay, exchange, parts, keeps=keeps)
    offer(r, (exchange.route.endpoint.pool, *parts), found[0], make)


def _around_port(sent: bytes, client_port: int) -> tuple[bytes, bytes] | None:
    """Return the bytes around the client's port; None if they may have it elsewhere too."""
    port = b"%d" % client_port
    before, mark, after = sent.partition(b"\x0b%cREMOTE_PORT%b" % (len(port), port))
    if not mark or b"REMOTE_PORT" in before or b"REMOTE_PORT" in after:
        return None
    return before + mark[: -len(port)], after
