"""Relays to HTTP back ends: an answer is known by its head without the value of Date."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from whimbrel.http.client.response_reader import ResponseReader
from whimbrel.http.client.response_rules import ResponseRules
from whimbrel.http.semantics.dates import format_http, parse_http
from whimbrel.modules.proxy.mod_proxy.relay import ProxyRelay, ProxyRelayExchange, may_offer
from whimbrel.modules.proxy.mod_proxy_http.response_head import MAPPED
from whimbrel.modules.support.backend_relay import MAX_PARTIAL, MAX_SENT, offer

if TYPE_CHECKING:
    from whimbrel.engine.relay.cache import RelayEntry
    from whimbrel.engine.relay.relay import RelayClient
    from whimbrel.http.syntax.head_shape import SplitHead
    from whimbrel.modules.proxy.mod_proxy_http.exchange import Exchange

MAX_HEAD: Final = 2048  # bytes of the head of an answer that is recognized
DATE: Final = b"\r\nDate: "
_DATE_START: Final = len(DATE)
_DATE_END: Final = _DATE_START + 29  # of an IMF-fixdate
_UNSAFE: Final = b"\r\nwarning:"  # a field whose meaning depends on Date, in lower case


def split_date(head: bytes) -> tuple[bytes, bytes]:
    """Return *head* without the value of the first Date, if it is as long as one, and the value."""
    at = head.find(DATE)
    if at < 0:
        return head, b""
    return head[: at + _DATE_START] + head[at + _DATE_END :], head[at + _DATE_START : at + _DATE_END]


def answer_key(head: bytes) -> bytes | None:
    """Return what a head has in common with those that differ in Date alone; None if a client may get more of
    the date than this field, or the field in another form.
    """
    key, date = split_date(head)
    if (date and (not is_canonical(date) or DATE + b"\r\n" not in key)) or _UNSAFE in key.lower():
        return None
    return key


def is_canonical(date: bytes) -> bool:
    """Return True if *date* is a date in the form that clients get (response_head.canonical_date)."""
    text = date.decode("latin-1")
    seconds = parse_http(text)
    return seconds is not None and format_http(seconds) == text


class LastDate:
    """The last date that was canonical: back ends send the same for a second."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = b""

    def accepts(self, date: bytes) -> bool:
        """Return True if *date* is canonical."""
        if date != self.value:
            if not is_canonical(date):
                return False
            self.value = date
        return True


class HttpOnePieceReader(ResponseReader):
    """A reader that keeps the head of an answer which arrives in one piece: `raw`, b"" for every other."""

    __slots__ = ("_has_begun", "raw")
    raw: bytes
    _has_begun: bool

    def feed(self, data: bytes) -> None:
        super().feed(data)
        if not self._has_begun:
            self._has_begun = True
            stop = data.find(b"\r\n\r\n") + 4
            if self.done and not self.interim and len(data) == stop + self.buffered:
                self.raw = data[:stop]


def one_piece_reader(rules: ResponseRules, method: str, uri: str, server: str) -> HttpOnePieceReader:
    """Return a reader; for the parameters see `ResponseReader`."""
    reader = HttpOnePieceReader(rules, method, uri, server)
    reader.raw = b""
    reader._has_begun = False
    return reader


class HttpRelayExchange(ProxyRelayExchange):
    """The exchange with an HTTP back end; *dates*: of all answers to equal requests."""

    __slots__ = ("dates",)
    dates: LastDate

    def receive(self, data: bytes) -> bool:
        request = self.request
        last = self.request.last
        if self.data:
            data = self.data + data
        if last is not None and len(data) == last[1] and data.startswith(last[0]):
            head, _size, self.reply, response_head = last
            body = data[len(head) :]
            self.body = body
            self.pass_on(response_head + body, is_reusable=True)
            return True
        stop = data.find(b"\r\n\r\n") + 4
        if stop < 4:
            return False
        head = data[:stop]
        key, date = split_date(head)
        reply = request.replies.get(key)
        if reply is None or (date and not self.dates.accepts(date)):
            return False
        missing = stop + reply.template.size - len(data)
        if missing:
            if missing < 0 or stop + reply.template.size > MAX_PARTIAL or reply.template.is_chunked:
                return False
            self.wait_for_rest(data)
            return True
        self.body = data[stop:]
        self.reply = reply
        self.date = date
        request.remember(head, len(data), reply, date)
        self.pass_on(b"", is_reusable=True)
        return True


class HttpRelay(ProxyRelay):
    """A request that was answered on a connection that stays open."""

    __slots__ = ("_dates", "_request", "_tls")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange.call, exchange.backend, exchange.route.endpoint)
        self._request = exchange.head
        self._tls = exchange.tls
        self._dates = LastDate()

    def send(
        self, request: RelayEntry, head: SplitHead, client: RelayClient, now: float
    ) -> HttpRelayExchange | None:
        """See Relay.send.

        The request is sent at the end of the tick. Events of the tick that come before then show an idle
        connection that the back end has closed, or to which it has sent bytes: the request goes to another.
        """
        connection = self._pool.take_idle(self._tls) if self._state.is_usable else None
        if connection is None:
            return None
        data = self._request
        exchange = HttpRelayExchange(request, head, client, connection, self._state, data, now)
        exchange.dates = self._dates
        connection.relay(exchange, data, self._timeout)
        client.gather(connection)
        return exchange


def offer_relay(exchange: Exchange, reader: HttpOnePieceReader) -> None:
    """Let the request be relayed, if its response depends only on the head of the answer, which came before.

    The answer has a body of known length, and *exchange* has made its response.
    """
    call = exchange.call
    fields = call.r.headers_out
    if (
        not may_offer(call)
        or not 0 < len(reader.raw) <= MAX_HEAD
        or not reader.reusable
        or len(exchange.head) > MAX_SENT
        or call.conf.via in ("on", "full")
        or "uds_path" in call.r.notes  # the URL does not name the socket
        or not (fields.is_unique and MAPPED.isdisjoint(fields.entries()))
    ):
        return
    key = answer_key(reader.raw)
    if key is not None:
        sent = (exchange.route.endpoint.pool, exchange.tls, exchange.head)
        offer(call.r, sent, key, partial(HttpRelay, exchange))
