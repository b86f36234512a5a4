"""Relayed requests to FastCGI applications: an answer is known by the head of the program's output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from whimbrel.backends.fastcgi import FastcgiReader, complete_output
from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.doorkeeper import Doorkeeper
from whimbrel.engine.relay.relay import RELAYABLE, Relay
from whimbrel.engine.relay.relayed_request import RelayOffer
from whimbrel.modules.proxy.mod_proxy.backend import answer_timeout, is_debugged
from whimbrel.modules.proxy.mod_proxy.relayed import RelayedExchange
from whimbrel.modules.proxy.mod_proxy_fcgi.settings import FcgiDirConfig

if TYPE_CHECKING:
    from whimbrel.engine.relay.relay import RelayClient
    from whimbrel.engine.relay.relayed_request import RelayedRequest
    from whimbrel.modules.proxy.mod_proxy.program_exchange import ProgramExchange

_HEAD_END: Final = re.compile(rb"\r\n\r\n|(?<!\r)\n\n").search
# Fields with which more than the head decides about the response: the clock, files, the status.
_OWN_RULES: Final = re.compile(
    rb"(?i)^(?:date|expires|last-modified|etag|location|status|warning|vary|content-(?:length|range)"
    rb"|transfer-encoding|connection|keep-alive|upgrade|te|trailer)[ \t]*:|\r(?!\n)|\0",
    re.M,
).search
MAX_HEAD: Final = 2048  # bytes of the head of an output that is recognized
MAX_SENT: Final = 16384  # bytes of a request
MAX_RELAYS: Final = 256  # requests of each plan; a full table is emptied
MAX_SEEN: Final = 64  # hashes of answers that came once to one request
NOTE: Final = "proxy fcgi relays"


def output_key(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the key and the body of an answer that is complete and of the plain form; None for others."""
    output = complete_output(data)
    if output is None:
        return None
    match = _HEAD_END(output, 0, MAX_HEAD)
    if match is None:
        return None
    stop = match.end()
    body = output[stop:]
    return (output[:stop] if body else b"\0" + output[:stop]), body  # without a body the framing is another


class OnePieceReader(FastcgiReader):
    """A reader that keeps an answer which arrives in one piece: `received`, b"" for every other."""

    __slots__ = ("received",)
    received: bytes | None

    def feed(self, data: bytes) -> None:
        """See AnswerReader."""
        self.received = data if self.received is None else b""
        super().feed(data)


def one_piece_reader(*, keep: bool) -> OnePieceReader:
    """Return a reader; *keep*: see `begin_request`."""
    reader = OnePieceReader(keep=keep)
    reader.received = None
    return reader


class FcgiRelayed(RelayedExchange):
    """The exchange of one relayed request; *keeps*: the application leaves the connection open."""

    __slots__ = ("keeps",)
    keeps: bool

    def receive(self, data: bytes) -> bool:
        """See RelayedExchange."""
        found = output_key(data)
        reply = None if found is None else self.request.replies.get(found[0])
        if found is None or reply is None:
            return False
        self.body = found[1]
        self.reply = reply
        self.date = b""
        self.pass_on(b"", is_reusable=self.keeps)
        return True


class FcgiRelay(Relay):
    """A request without a body: the bytes around the client's port, the only ones that differ by connection.

    Attributes:
        parts: these bytes. `digits`: of the port. `seen`: answers that came.
    """

    __slots__ = ("_keeps", "_path", "_pool", "_state", "_timeout", "digits", "parts", "seen")

    def __init__(self, exchange: ProgramExchange, parts: tuple[bytes, bytes], *, keeps: bool) -> None:
        endpoint = exchange.route.endpoint
        self.digits = len(str(exchange.r.connection.client_port))
        self.parts = parts
        address = endpoint.addresses[0]
        self._pool = endpoint.pool
        self._path = address if isinstance(address, str) else ""
        self._state = exchange.backend.state
        self._keeps = keeps
        self._timeout = answer_timeout(exchange.call, exchange.backend.worker)
        self.seen = Doorkeeper(MAX_SEEN)

    def send(self, request: RelayedRequest, client: RelayClient, now: float) -> FcgiRelayed | None:
        """See Relay.send."""
        port = b"%d" % client.connection.client_port
        if len(port) != self.digits or not self._state.is_usable:
            return None
        connection = self._pool.take_idle()
        if connection is None:
            connection = self._pool.open_now(self._path) if self._path else None
            if connection is None:
                return None
        before, after = self.parts
        data = before + port + after
        relayed = FcgiRelayed(request, client, connection, self._state, data, now)
        relayed.keeps = self._keeps
        connection.relay(relayed, data, self._timeout)
        connection.write_gathered()
        return relayed


def offer(exchange: ProgramExchange, sent: bytes, body: bytes, *, keeps: bool) -> None:
    """Let the request be relayed, if the bytes *sent* depend only on its head, its client and the settings,
    and the answer, with *body*, came before.
    """
    call = exchange.call
    r = exchange.r
    reader = exchange.reader
    if (
        r.relay is not RELAYABLE
        or r.method != "GET"
        or len(sent) > MAX_SENT
        or r.env.__class__ is not dict
        or r.path_info
        or r.output_filters
        or r.user is not None
        or call.proxy is not None
        or call.balancer is not None
        or r.body_in.length != 0
        or r.dir_config(FcgiDirConfig).fixups
        or r.engine.is_general_only
        or len(exchange.route.endpoint.addresses) != 1
        or not isinstance(reader, OnePieceReader)
        or not reader.received
        or is_debugged(r)
    ):
        return
    found = output_key(reader.received)
    if found is None or found[1] != body or _OWN_RULES(found[0].removeprefix(b"\0")):
        return
    relay = _relay(exchange, sent, keeps)
    if relay is not None and relay.seen.has_seen(hash(found[0])):
        r.relay = RelayOffer(relay, found[0])


def _relay(exchange: ProgramExchange, sent: bytes, keeps: bool) -> FcgiRelay | None:
    """Return the relay of a request, None at its first occurrence."""
    r = exchange.r
    known: Any = r.plan.notes.get(NOTE)
    if known is None:
        known = BoundedDict(MAX_RELAYS)
        r.plan.notes[NOTE] = known
    port = b"%d" % r.connection.client_port
    before, mark, after = sent.partition(b"\x0b%cREMOTE_PORT%b" % (len(port), port))
    if not mark or b"REMOTE_PORT" in before or b"REMOTE_PORT" in after:
        return None
    parts = (before + mark[: -len(port)], after)
    relay: FcgiRelay | None = known.get(hash(parts))
    if relay is not None and relay.parts == parts:
        return relay
    known[hash(parts)] = FcgiRelay(exchange, parts, keeps=keeps)
    return None
