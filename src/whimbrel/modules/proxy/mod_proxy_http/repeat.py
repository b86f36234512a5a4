"""Requests to HTTP back ends that come again, and answers whose heads come again."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final, cast

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.engine.relay.relay import RELAYABLE, Relay
from whimbrel.engine.relay.relayed_request import RelayOffer
from whimbrel.http.client.answer import ResponseHead
from whimbrel.http.client.response_reader import ResponseReader
from whimbrel.http.client.response_rules import ResponseRules
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy.backend import answer_timeout, is_debugged
from whimbrel.modules.proxy.mod_proxy.repeats import General, Repeat, repeat_key, repeats_of
from whimbrel.modules.proxy.mod_proxy_http.relay import HttpRelayed, LastDate, answer_key
from whimbrel.registry.phases import OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.backends.connection import BackendConnection
    from whimbrel.engine.relay.relay import RelayClient
    from whimbrel.engine.relay.relayed_request import RelayedRequest
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
    from whimbrel.modules.proxy.mod_proxy_http.exchange import Exchange

MAX_TRANSLATIONS: Final = 256  # of each plan; a full cache is emptied
MAX_HEAD: Final = 2048  # bytes of a head that is remembered
# Methods of requests that are sent again if the back end has closed the connection before (RFC 9110, 9.2.2).
IDEMPOTENT: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))


class StaleConnection(Exception):
    """The back end closed a connection that had served requests, before any byte of an answer."""


@dataclass(frozen=True, slots=True)
class TranslatedHead:
    """A head of an answer as the client gets it.

    Attributes:
        head: as the back end sent it. `length`: of the body. `keeps`: the connection stays open.
        status_line: None for the usual one.
        fields: for the client; not to be changed.
    """

    head: ResponseHead
    length: int
    keeps: bool
    status_line: str | None
    content_type: str | None
    fields: Headers


# Cache of translations. Key: the bytes of a head; value: None for a head that came once. Valid as long as the
# plan is. Bound: MAX_TRANSLATIONS heads of MAX_HEAD bytes.
Translations = BoundedDict[bytes, TranslatedHead | None]


class TranslatingReader(ResponseReader):
    """A reader that recognizes heads which came before.

    Attributes:
        translation: of the answer, if its head is known and its body has come with it.
        raw: the bytes of the head, if the answer is this head and the body that came with it.
    """

    __slots__ = ("_has_begun", "_translations", "raw", "translation")

    def __init__(
        self, rules: ResponseRules, method: str, uri: str, server: str, translations: Translations
    ) -> None:
        super().__init__(rules, method, uri, server)
        self._translations = translations
        self._has_begun = False
        self.translation: TranslatedHead | None = None
        self.raw = b""

    def feed(self, data: bytes) -> None:
        """See AnswerReader."""
        if not self._has_begun:
            self._has_begun = True
            stop = data.find(b"\r\n\r\n") + 4
            if stop >= 4:
                raw = data[:stop]
                found = self._translations.get(raw)
                if found is not None and len(data) == stop + found.length:
                    self.translation = found
                    self.head = found.head
                    self.raw = raw
                    self.done = True
                    self.reusable = found.keeps
                    self._add(data[stop:])
                    return
                super().feed(data)
                if self.done and not self.interim and len(data) == stop + self.buffered:
                    self.raw = raw
                return
        super().feed(data)


class HttpRepeat(Repeat, Relay):
    """A request without a body that was answered on a connection that stays open."""

    __slots__ = (
        "_call",
        "_dates",
        "_exchange",
        "_pool",
        "_request",
        "_rules",
        "_state",
        "_timeout",
        "_tls",
    )

    def __init__(self, call: ProxyCall, exchange: Exchange) -> None:
        """Take over what *exchange* sent, but nothing of the request."""
        self._call = replace(call, r=cast("Request", None))
        self._exchange = exchange.template()
        self._request = exchange.head
        self._dates = LastDate()
        self._pool = exchange.route.endpoint.pool
        self._tls = exchange.tls
        self._state = exchange.backend.state
        worker = exchange.backend.worker
        self._rules = exchange.rules.reader_rules(call, worker)
        self._timeout = answer_timeout(call, worker)

    def start(self, r: Request, general: General) -> Awaitable[HookStatus] | None:
        """See Repeat.start."""
        relayed: Any = r.connection.exchange
        if self._has_sent(relayed):
            r.connection.exchange = None
            r.time = relayed.time
            return self._run(r, relayed.connection, general, relayed)
        connection = self._idle()
        return None if connection is None else self._run(r, connection, general)

    def send(self, request: RelayedRequest, client: RelayClient, now: float) -> HttpRelayed | None:
        """See Relay.send.

        The request is sent at the end of the tick. Events of the tick that come before then show an idle
        connection that the back end has closed, or to which it has sent bytes: the request goes to another.
        """
        connection = self._idle()
        if connection is None:
            return None
        data = self._request
        relayed = HttpRelayed(request, client, connection, self._state, data, now)
        relayed.dates = self._dates
        connection.relay(relayed, data, self._timeout)
        client.gather(connection)
        return relayed

    def _has_sent(self, relayed: object) -> bool:
        """Return True if *relayed* has sent what this would send."""
        return (
            isinstance(relayed, HttpRelayed)
            and relayed.sent == self._request
            and relayed.state is self._state
        )

    def is_like(self, exchange: Exchange) -> bool:
        """Return True if this sends what *exchange* has sent, on connections of the same pool."""
        own = self._exchange
        return (
            self._request == exchange.head
            and own.backend is exchange.backend
            and own.route.endpoint is exchange.route.endpoint
            and own.tls == exchange.tls
        )

    def _idle(self) -> BackendConnection | None:
        """Return an idle connection to a back end that may be used, None without one."""
        return self._pool.take_idle(self._tls) if self._state.is_usable else None

    async def _run(
        self, r: Request, connection: BackendConnection, general: General, relayed: HttpRelayed | None = None
    ) -> HookStatus:
        template = self._exchange
        reader = TranslatingReader(
            self._rules, r.method, r.uri, template.route.endpoint.server, template.rules.translations
        )
        if relayed is None:
            connection.begin(reader, self._timeout)
            connection.write(self._request)
        try:
            if relayed is None or not relayed.continue_as(reader):
                await connection.changed()
        except BaseException:
            connection.close()
            connection.finish()
            raise
        found = reader.translation
        if found is not None and not r.headers_out.entries():
            data = reader.take()
            template.backend.state.count(len(self._request), len(data))
            connection.finish()
            r.status = found.head.status
            r.status_line = found.status_line
            r.content_type = found.content_type
            r.headers_out = found.fields.copy()
            if data:
                r.body = [data]
            is_open = r.relay is RELAYABLE and not r.output_filters
            if is_open and (key := answer_key(reader.raw)) is not None:
                r.relay = RelayOffer(self, key)
            return OK
        exchange = template.copy_for(replace(self._call, r=r))
        try:
            return await exchange.resume(connection, reader, may_repeat=True)
        except StaleConnection:
            return await general(r)


def remember_request(call: ProxyCall, exchange: Exchange) -> None:
    """Remember a request, on its second occurrence, that was answered in the ordinary way."""
    if call.r.engine.is_general_only or call.r.method not in IDEMPOTENT:
        return
    if call.proxy is not None or call.balancer is not None or call.conf.via in ("on", "full"):
        return
    if is_debugged(call.r):
        return  # each request logs its way
    if "uds_path" in call.r.notes:
        return  # the URL does not name the socket
    key = repeat_key(call.r)
    if key is not None:
        known = repeats_of(call.r.plan)
        repeat = known.get(key)
        if repeat is None or not cast(HttpRepeat, repeat).is_like(exchange):
            known[key] = HttpRepeat(call, exchange) if key in known else None


def remember_head(call: ProxyCall, translations: Translations, reader: TranslatingReader) -> None:
    """Remember the head of an answer, on its second occurrence, whose translation depends on nothing else."""
    raw = reader.raw
    head = reader.head
    r = call.r
    if not raw or len(raw) > MAX_HEAD or head is None or reader.translation is not None:
        return
    if r.engine.is_general_only:
        return
    if raw not in translations:
        translations[raw] = None
        return
    length = reader.buffered
    translations[raw] = TranslatedHead(
        head, length, reader.reusable, r.status_line, r.content_type, r.headers_out.copy()
    )
