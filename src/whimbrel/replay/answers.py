"""Fast answers of one configuration to logged requests: the response cache and the specialized functions of
an ordinary engine, and the general path behind them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container
from typing import Any, Final, NamedTuple

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.programs import noted_programs, without_programs
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.body import release
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.index import CacheIndex
from whimbrel.engine.connection import Connection
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.output.headers import final_request
from whimbrel.engine.parser_limits import head_limits, head_rules
from whimbrel.engine.response import Response
from whimbrel.engine.specialized.split_path import LineParts
from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.head_shape import SplitHead
from whimbrel.http.syntax.line_reader import InputState
from whimbrel.replay.tally import NOT_RUN, UNAUTHORIZED
from whimbrel.upgrade.rules.modules.php import COMMON, OF_ONE_VERSION
from whimbrel.verify.answer import Answer
from whimbrel.verify.answering import connection_of, is_built_in
from whimbrel.verify.assumptions import USER_KEY
from whimbrel.verify.difference import compare
from whimbrel.verify.digest_user import authorization
from whimbrel.verify.probe import Probe, ProbeUser, TlsFacts
from whimbrel.verify.side import Side

PROXY: Final = "proxy-server"
"""The handler of mod_proxy."""
MAX_ADDRESSES: Final = 256
MAX_TAILS: Final = 4096  # combinations of host, user and fields
TICK: Final = 1 << 40
"""First number of the ticks of replays: in one tick files are checked once."""
EVERY_CLIENT: Final[tuple[Container[str], ...]] = ()
NamedAnswer = tuple[CachedResponse, object]
"""A response, and what others share with it: see `CacheIndex.answer_line`."""


class Tail(NamedTuple):
    """What follows the request line in the heads of many requests, and where they are sent.

    *number* is another one for each.
    """

    data: bytes
    address: str
    port: int
    user: ProbeUser | None
    tls: TlsFacts | None
    number: int


class FastAnswer(NamedTuple):
    """A response as far as replays compare it at first.

    Attributes:
        status: NOT_RUN for a program or back end.
        head: what identifies the response: its status line and fields, or the handler and its target.
        lists: the answer depends on which of these contain the client; None: on the client itself.
        is_missing: the file does not exist.
        request: the request that was answered last (`final_request`); None for a head that cannot be read.
    """

    status: int
    head: tuple[bytes, bytes]
    lists: tuple[Container[str], ...] | None
    is_missing: bool = False
    request: Any = None

    def agrees_with(self, other: FastAnswer) -> bool:
        """Return True if nothing that counts (`compare`) differs in status and fields; False if it has to be
        looked at more closely.

        In place of the bodies their lengths are compared.
        """
        if self.status != other.status:
            return False
        if self.head == other.head:
            return True
        if self.status == NOT_RUN or self.request is None or other.request is None:
            return False
        return compare(self._as_answer(), other._as_answer()) is None

    @property
    def asks_for_digest(self) -> bool:
        """Return True for a 401 whose challenges are all of Digest: it takes no credentials of Basic."""
        if self.status != UNAUTHORIZED:
            return False
        values = [value[:7].lower() for value in self._as_answer().field("www-authenticate")]
        return bool(values) and all(value == "digest " for value in values)

    def _as_answer(self) -> Answer:
        pairs = [line.partition(":") for line in to_text(b"".join(self.head)).split("\r\n")[1:]]
        fields = tuple([(name, value.strip()) for name, _, value in pairs if name])
        length = next((value for name, value in fields if name.lower() == "content-length"), "")
        return Answer(
            self.status,
            fields,
            length,
            is_built_in=is_built_in(self.request, self.status),
            dialect=self.request.engine.configuration.dialect.name,
        )


class SideAnswers:
    """The answers of one side; *tick* changes when files may have changed."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.engine = side.engine
        server = self.engine.main.config(CoreServerConfig)
        self._limits = head_limits(server)
        self._rules = head_rules(server, self.engine.configuration)
        self._connections: BoundedDict[tuple[str, int, str | None], tuple[Connection, CacheIndex]] = (
            BoundedDict(MAX_ADDRESSES)
        )
        # by a tail's number: where it is sent, a head that ends with it, the most bytes of a request line
        self._destinations: BoundedDict[int, tuple[Connection, CacheIndex, SplitHead | None, int]] = (
            BoundedDict(MAX_TAILS)
        )
        self._statuses: dict[bytes, int] = {}
        self.tick = TICK

    def next_piece(self) -> None:
        """Check files anew from here on."""
        self.tick += 1
        stats = self.engine.stat_cache
        stats.known.clear()
        stats.in_tick = True
        stats.tick = self.tick

    def named(self, line: bytes, parts: LineParts, tail: Tail, client: str) -> NamedAnswer | None:
        """Return the stored answer to a request line in *parts*, followed by *tail*, or that of a specialized
        function; None if there is none.
        """
        destination = self._destinations.get(tail.number)
        if destination is None:
            connection, index = self._connection(client, tail)
            head = index.split(line + tail.data, self._limits)
            destination = (
                connection,
                index,
                head,
                self._limits.plain - len(tail.data),
            )
            self._destinations[tail.number] = destination
        connection, index, head, most = destination
        if head is None or len(line) > most:
            return None
        connection.set_client(client)
        return index.answer_line(connection, parts, head, self.tick)

    def reply(self, raw: bytes, client: str, tail: Tail, client_host: str = "") -> FastAnswer:
        """Return the reply to the head *raw*, which ends with *tail*; *client_host* is the name of *client*,
        "" for none. Stored replies are those to clients without a name.
        """
        self.side.runtime.begin(client, client_host, is_traced=False)
        if client_host:
            return self._general(raw, client, tail)
        connection, index = self._connection(client, tail)
        hit = index.lookup(connection, raw, self._limits, self.tick)
        return self._general(raw, client, tail) if hit is None else self.fast(hit[0])

    def reply_to_challenge(self, probe: Probe) -> FastAnswer:
        """Return the reply to *probe* with the answer of its user to the challenge of Digest that this side
        sends without credentials (RFC 7616).
        """
        value = authorization(probe, self.side.answer(replace(probe, user=None)))
        fields = (*probe.fields, ("Authorization", value)) if value else probe.fields
        raw = replace(probe, fields=fields).head()
        self.side.runtime.begin(probe.client, probe.client_host, is_traced=False)
        return self._general(
            raw, probe.client, Tail(b"", probe.address, probe.port, probe.user, probe.tls, -1)
        )

    def fast(self, entry: CachedResponse) -> FastAnswer:
        """Return the answer that *entry* is."""
        validity = entry.validity
        lists = None if validity.client is not None else validity.address_lists
        template = entry.template
        status = self._status(template.prefix)
        head = template.prefix, template.suffix
        return FastAnswer(status, head, lists, status == 404, final_request(entry.request))

    def _new_connection(self, client: str, tail: Tail) -> Connection:
        return connection_of(
            self.engine, Probe(address=tail.address, port=tail.port, client=client, tls=tail.tls)
        )

    def _connection(self, client: str, tail: Tail) -> tuple[Connection, CacheIndex]:
        key = (tail.address, tail.port, tail.tls.server_name if tail.tls is not None else None)
        found = self._connections.get(key)
        if found is None:
            connection = self._new_connection(client, tail)
            index = self.engine.response_cache.index(tail.address, tail.port, connection.tls)
            found = (connection, index)
            self._connections[key] = found
        found[0].set_client(client)
        return found

    def _status(self, line: bytes) -> int:
        status = self._statuses.get(line)
        if status is None:
            words = line.split(b" ", 2)
            status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 200
            self._statuses[line] = status
        return status

    def _general(self, raw: bytes, client: str, tail: Tail) -> FastAnswer:
        engine = self.engine
        head = read_head(raw, self._limits, self._rules, ending=InputState.EOF)
        if head is None:
            return FastAnswer(400, (b"", b""), EVERY_CLIENT)
        engine.worker_state[USER_KEY] = tail.user
        connection = self._new_connection(client, tail)
        with without_programs(), noted_programs() as noted:
            result: Any = engine.respond(connection, head, RequestBody(0))
            response: Response = result if isinstance(result, Response) else asyncio.run(_wait(result))
            response.on_sent(0)
        for part in response.parts:
            release(part)
        r = final_request(response.request)
        handler = r.handler or ""
        deps = r.deps
        lists = None if deps.is_uncacheable or deps.on_client else deps.address_lists
        is_proxied = r.proxy or handler == PROXY
        if noted or (is_proxied and r.handled_by is not None):
            named = OF_ONE_VERSION.sub(COMMON, handler or r.content_type or "")
            target = (named.encode("latin-1"), (r.filename or "").encode("latin-1"))
            return FastAnswer(NOT_RUN, target, lists)
        status = self._status(response.head_prefix)
        return FastAnswer(status, (response.head_prefix, response.head_suffix), lists, status == 404, r)


async def _wait(result: Any) -> Any:
    return await result
