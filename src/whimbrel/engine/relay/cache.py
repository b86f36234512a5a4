"""Cache of requests that are relayed: by the bytes of their heads, and by what the phases read of them.

A `Relay` that `fills_in` sends the values of each head, so its requests differ in the fields that nothing
else has read. They are found as responses of the response cache are (cache/index.py): by the shape of the
head, and a key of request line and relevant fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.doorkeeper import Doorkeeper
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.cache.cacheable import is_cacheable_head
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.raw_head import RawHead, has_plain_form
from whimbrel.engine.cache.response_template import LARGE_THRESHOLD
from whimbrel.engine.deps.files import unchanged
from whimbrel.engine.deps.key_spec import Key, KeySpec, KeySpecs
from whimbrel.engine.env import WatchedEnv
from whimbrel.engine.output.head_cache import HEADER_ONLY, MAX_TEMPLATE
from whimbrel.engine.prepared.prepared_request import PreparedRequest
from whimbrel.engine.response import Framing
from whimbrel.http.syntax.head_shape import NO_SHAPE, HeadShapes, SplitHead, line_of

if TYPE_CHECKING:
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.plan.plan import Plan
    from whimbrel.engine.plan.plan_cache import PlanCache
    from whimbrel.engine.relay.relay import Relay
    from whimbrel.engine.request import Request
    from whimbrel.engine.response import Response
    from whimbrel.http.syntax.line_reader import HeadLimits

# bounds of the requests to one address of the server, by bytes and by key, of their heads, and of the answers
# to each
MAX_REQUESTS: Final = 256
MAX_KEYS: Final = 512
MAX_SEEN: Final = 1024  # hashes of heads that were found by their key once
MAX_HEAD: Final = 4096
MAX_REPLIES: Final = 4


# The head of an answer, which back ends repeat for a second, Date included; the size of head and body; the
# response, and its head for clients.
LastAnswer = tuple[bytes, int, CachedResponse, bytes]


class RelayOffer(NamedTuple):
    """How a request was answered that may be relayed the next time: `Request.relay`.

    *key* is what `RelayEntry.replies` has its response under. *is_streamed*: the body came from a source.
    """

    relay: Relay
    key: bytes
    is_streamed: bool = False


class RelayEntry:
    """A request that any connection of one client may send again.

    Attributes:
        relay: its way to the back end.
        client: the client's address, "" for all. `max_served`: as in `CachedResponse`.
        root, dependencies: see `PreparedRequest`.
        replies: the responses by the answers of the back end; their bodies are those of the answers. Key: the
            head of the answer without the value of Date. Bound: MAX_REPLIES.
        last: the last answer whose response has a head that depends on it alone, see `LastAnswer`.
        checked_tick: last tick in which root and dependencies were checked.
    """

    __slots__ = (
        "checked_tick",
        "client",
        "dependencies",
        "last",
        "max_served",
        "relay",
        "replies",
        "root",
    )

    def __init__(self, r: Request, relay: Relay) -> None:
        prepared: PreparedRequest = r.preparation
        self.relay = relay
        self.client = "" if relay.fills_in else r.connection.client_ip
        self.root = prepared.root
        self.dependencies = r.deps.minimal()
        self.max_served = r.server_conf(CoreServerConfig).max_keep_alive or 1 << 60
        self.replies: BoundedDict[bytes, CachedResponse] = BoundedDict(MAX_REPLIES)
        self.last: LastAnswer | None = None
        self.checked_tick: int | None = None

    def remember(self, head: bytes, size: int, reply: CachedResponse, date: bytes) -> None:
        """Set `last`: an answer of *size* bytes that begins with *head* has *reply*, with its own *date*."""
        template = reply.template
        is_plain = template.most is None and not template.pieces and not template.is_chunked
        if date and size < LARGE_THRESHOLD and is_plain:
            self.last = (head, size, reply, template.serialize_head(0, date, 0.0))

    def is_valid(self, connection: Connection, plans: PlanCache, tick: int | None) -> bool:
        """Return True if the phases would do for *connection* what they did before."""
        if (
            not 0 < connection.served < self.max_served
            or (self.client and connection.client_ip != self.client)
            or connection.useragent_ip
            or connection.notes
        ):
            return False
        if tick is None or self.checked_tick != tick:
            root: Plan = self.root
            if plans.roots.get(id(root.server_rec)) is not root or not unchanged(self.dependencies, tick):
                return False
            self.checked_tick = tick
        return True


# An entry and the head that it sends: its bytes, and the shape that they have.
RelayHit = tuple[RelayEntry, SplitHead]


class RelayTable:
    """The requests to one address of the server.

    Attributes:
        by_head: by the bytes of a head.
        by_key: by the number of a shape and the key of a `KeySpec`; the heads differ in other fields.
    """

    __slots__ = ("_lines", "_seen", "_shapes", "by_head", "by_key")

    def __init__(self, shapes: HeadShapes) -> None:
        self.by_head: BoundedDict[bytes, RelayHit] = BoundedDict(MAX_REQUESTS)
        self.by_key: BoundedDict[Key, RelayEntry] = BoundedDict(MAX_KEYS)
        self._lines: BoundedDict[bytes, KeySpec] = BoundedDict(MAX_KEYS)
        self._shapes = shapes
        self._seen = Doorkeeper(MAX_SEEN)

    def find(self, connection: Connection, raw: bytes, limits: HeadLimits) -> RelayHit | None:
        """Return the entry for a head that is not in `by_head`; it is stored there on its second occurrence.

        *limits* are those of heads.
        """
        if len(raw) > min(limits.plain, MAX_HEAD):
            return None
        shape = self._shapes.by_number.get(connection.shape)
        match = None if shape is None else shape.match_plain(raw)
        head: SplitHead | None
        if match is not None and shape is not None:
            head = (raw, match.groups(), shape, True)
        else:
            head = self._shapes.split(raw)
            if head is not None:
                connection.shape = head[2].number
        if head is None or head[2].count > limits.most_fields:
            return None
        spec = self._lines.get(_bare(head))
        entry = None if spec is None else self.by_key.get(_key(spec, head, connection.client_ip))
        if entry is None:
            return None
        if self._seen.has_seen(hash(raw)):
            self.by_head[raw] = (entry, head)
        return entry, head

    def put(self, spec: KeySpec, head: SplitHead, client: str, entry: RelayEntry) -> None:
        """Store *entry*, whose response depends on what *spec* names."""
        key = _key(spec, head, client)
        if key[1]:
            self._lines[_bare(head)] = spec
            self.by_key[key] = entry

    def get(self, spec: KeySpec, head: SplitHead, client: str) -> RelayEntry | None:
        """Return what `put` has stored."""
        return self.by_key.get(_key(spec, head, client))

    def spec(self, head: SplitHead) -> KeySpec | None:
        """Return what responses to the request line of *head* depend on, as far as that is known."""
        return self._lines.get(_bare(head))

    def clear(self) -> None:
        """Drop everything."""
        self.by_head.clear()
        self.by_key.clear()
        self._lines.clear()


def _bare(head: SplitHead) -> bytes:
    """Return the request line without its query."""
    pieces = head[1]
    line: bytes = pieces[0] + pieces[2]
    return line


def _key(spec: KeySpec, head: SplitHead, client: str) -> Key:
    """Return the key of *head*. A query is always part of it: it is among the variables of applications."""
    return head[2].number, spec.build_key(head, line_of(head[1]), client)


class RelayCache:
    """The requests of one engine that are relayed.

    Key: an address of the server, then the bytes of a head, or what the phases read of it. Value:
    `RelayEntry`, valid as `is_valid` says. Bound: MAX_REQUESTS and MAX_KEYS for each address; a full table is
    emptied.

    A request is learned that was prepared, that a `Relay` can send, and whose answer came as several before
    it: only the settings, the head, the client and the answer decide about its response and its log lines.
    """

    __slots__ = ("_shapes", "_specs", "_tables")

    def __init__(self, shapes: HeadShapes, specs: KeySpecs) -> None:
        self._shapes = shapes
        self._specs = specs
        self._tables: dict[tuple[str, int], RelayTable] = {}

    def table(self, connection: Connection) -> RelayTable:
        """Return the requests to *connection*'s address; none with TLS, a PROXY header, or HTTP/2."""
        if connection.tls is not None or connection.proxied is not None or connection.is_http2:
            return RelayTable(self._shapes)
        key = (connection.local_ip, connection.local_port)
        table = self._tables.get(key)
        if table is None:
            table = RelayTable(self._shapes)
            self._tables[key] = table
        return table

    def clear(self) -> None:
        """Drop everything."""
        for table in self._tables.values():
            table.clear()

    def learn(self, r: Request, response: Response, writers: tuple[Any, ...]) -> None:
        """Store the way of *r*, whose response was sent and logged; *writers* are the access logs."""
        offer: RelayOffer = r.relay
        relay = offer.relay
        if not _is_plain(r, response):
            return
        if any("date" in w.response_fields or (w.condition is not None and w.reads_path) for w in writers):
            return
        deps = r.deps
        logs = tuple([writer for writer in writers if writer.matches(r)])
        if deps.is_uncacheable or deps.is_per_request:
            return
        table = self.table(r.connection)
        raw = bytes(r.head.raw)
        split = r.engine.shapes.split(raw)
        own = split or (raw, (), NO_SHAPE, False)
        spec: KeySpec | None = None
        if not relay.fills_in:
            hit = table.by_head.get(raw)
            entry = None if hit is None else hit[0]
        elif split is None or (spec := self._spec(r, table.spec(split))) is None:
            return
        else:
            entry = table.get(spec, split, r.connection.client_ip)
        if entry is None or entry.relay is not relay:
            entry = RelayEntry(r, relay)
        deps.on_query = True  # it is for this query alone
        body = b"".join([part for part in response.parts if isinstance(part, bytes)])
        reply = CachedResponse(response, r.head, own, body, logs)
        reply.log.prepare()
        is_shared = r.env.__class__ is not WatchedEnv or not r.env.has_read
        client = r.connection.client_ip
        reply.release_request(RawHead(raw))
        if not reply.log.is_stable or not is_shared:
            return
        reply.template.drop_body()
        entry.replies[offer.key] = reply
        entry.last = None
        if spec is not None:
            table.put(spec, own, client, entry)
        else:
            table.by_head[raw] = (entry, own)

    def _spec(self, r: Request, known: KeySpec | None) -> KeySpec | None:
        """Return what the response to *r* depends on, and what *known* names; None if that is too much."""
        deps = r.deps
        return self._specs.covering(
            r.headers_in, deps.address_lists, known, by_client=deps.on_client, by_query=True
        )


def _is_plain(r: Request, response: Response) -> bool:
    """Return True if the response to *r* is of the common form, and r is a request that any may repeat."""
    head = r.head
    connection = r.connection
    deps = r.deps
    return (
        r.preparation.__class__ is PreparedRequest
        and r.prev is r.next is r.main is None
        and r.method == "GET"
        and head.version >= (1, 1)
        and len(head.raw) <= MAX_HEAD
        and is_cacheable_head(head)
        and has_plain_form(head.raw)
        and not (connection.notes or connection.useragent_ip or connection.is_draining)
        and not (r.output_filters or r.input_filters or r.log_lines or r.takeover or r.body_factory)
        and not (deps.clock_fields or r.assbackwards or r.user)
        and deps.is_settled(r.time)
        and not r.no_cache
        and r.status not in HEADER_ONLY
        and r.status_line is None
        and r.body_in.failure is None
        and not r.plan.insert_filter.is_recorded
        and response.framing is (Framing.CHUNKED if r.chunked or r.relay.is_streamed else Framing.LENGTH)
        and not response.close
        and len(response.head_suffix) <= MAX_TEMPLATE
        and (r.relay.is_streamed or all(isinstance(part, bytes) for part in response.parts))
    )
