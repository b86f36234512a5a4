"""Cache of requests that are relayed, by the bytes of their heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.cache.cacheable import is_cacheable_head
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.raw_head import RawHead, has_plain_form
from whimbrel.engine.cache.response_template import LARGE_THRESHOLD
from whimbrel.engine.deps.files import unchanged
from whimbrel.engine.output.head_cache import HEADER_ONLY, MAX_TEMPLATE
from whimbrel.engine.prepared.prepared_request import PreparedRequest
from whimbrel.engine.response import Framing
from whimbrel.http.syntax.head_shape import NO_SHAPE

if TYPE_CHECKING:
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.plan.plan import Plan
    from whimbrel.engine.plan.plan_cache import PlanCache
    from whimbrel.engine.relay.relay import Relay
    from whimbrel.engine.request import Request
    from whimbrel.engine.response import Response

# bounds of the requests to one address of the server, of their heads, and of the answers to each
MAX_REQUESTS: Final = 256
MAX_HEAD: Final = 4096
MAX_REPLIES: Final = 4


# The head of an answer, which back ends repeat for a second, Date included; the size of head and body; the
# response, and its head for clients.
LastAnswer = tuple[bytes, int, CachedResponse, bytes]


class RelayOffer(NamedTuple):
    """How a request was answered that may be relayed the next time: `Request.relay`.

    *key* is what `RelayEntry.replies` has its response under.
    """

    relay: Relay
    key: bytes


class RelayEntry:
    """A request that any connection of one client may send again.

    Attributes:
        relay: its way to the back end; *raw*: the bytes of its head.
        client: the client's address. `max_served`: as in `CachedResponse`.
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
        "raw",
        "relay",
        "replies",
        "root",
    )

    def __init__(self, r: Request, relay: Relay) -> None:
        prepared: PreparedRequest = r.preparation
        self.raw = bytes(r.head.raw)
        self.relay = relay
        self.client = r.connection.client_ip
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
            or connection.client_ip != self.client
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


class RelayCache:
    """The requests of one engine that are relayed.

    Key: an address of the server, then the bytes of a head. Value: `RelayEntry`, valid as `is_valid`
    says. Bound: MAX_REQUESTS for each address; a full table is emptied.

    A request is learned that was prepared, that a `Relay` can send, and whose answer came as several before
    it: only the settings, the head, the client and the answer decide about its response and its log lines.
    """

    __slots__ = ("_tables",)

    def __init__(self) -> None:
        self._tables: dict[tuple[str, int], dict[bytes, RelayEntry]] = {}

    def table(self, connection: Connection) -> dict[bytes, RelayEntry]:
        """Return the requests to the address of *connection*; an empty table for one with TLS, a PROXY
        header, or HTTP/2.
        """
        if connection.tls is not None or connection.proxied is not None or connection.is_http2:
            return {}
        key = (connection.local_ip, connection.local_port)
        table = self._tables.get(key)
        if table is None:
            table = BoundedDict(MAX_REQUESTS)
            self._tables[key] = table
        return table

    def clear(self) -> None:
        """Drop everything."""
        for table in self._tables.values():
            table.clear()

    def learn(self, r: Request, response: Response, writers: tuple[Any, ...]) -> None:
        """Store the way of *r*, whose response was sent and logged; *writers* are the access logs."""
        offer: RelayOffer = r.relay
        if not _is_plain(r, response):
            return
        if any("date" in w.response_fields or (w.condition is not None and w.reads_path) for w in writers):
            return
        deps = r.deps
        logs = tuple([writer for writer in writers if writer.matches(r)])
        if deps.is_uncacheable or deps.is_per_request:
            return
        body = b"".join([part for part in response.parts if isinstance(part, bytes)])
        table = self.table(r.connection)
        request = table.get(r.head.raw)
        if request is None or request.relay is not offer.relay:
            request = RelayEntry(r, offer.relay)
        deps.on_query = True  # it is for this head alone
        raw = request.raw
        own = r.engine.shapes.split(raw) or (raw, (), NO_SHAPE, False)
        reply = CachedResponse(response, r.head, own, body, logs)
        reply.release_request(RawHead(raw))
        reply.log.prepare()
        if reply.log.is_stable:
            reply.template.drop_body()
            request.replies[offer.key] = reply
            request.last = None
            table[request.raw] = request


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
        and response.framing is (Framing.CHUNKED if r.chunked else Framing.LENGTH)
        and not response.close
        and len(response.head_suffix) <= MAX_TEMPLATE
        and all(isinstance(part, bytes) for part in response.parts)
    )
