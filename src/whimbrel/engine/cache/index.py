"""Index of the response cache, on two levels: the exact bytes of a head, then the request line with the
fields that the response depends on.

The fields are those that were read while the response was built (http/semantics/tracked_headers.py). Clients
whose heads differ in other fields, such as cookies, share an entry; so do queries where no code read
`Request.args`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.doorkeeper import Doorkeeper
from whimbrel.base.second_chance import SecondChance
from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.cacheable import is_cacheable, is_cacheable_head, is_last, logs_slot
from whimbrel.engine.cache.entry import CachedResponse, Hit
from whimbrel.engine.cache.raw_head import RawHead, has_plain_form
from whimbrel.engine.connection import Connection
from whimbrel.engine.deps.files import TickStatCache
from whimbrel.engine.deps.key_spec import LINE_COST, Key, KeySpec, KeySpecs
from whimbrel.engine.deps.listings import DirectoryListings
from whimbrel.engine.env import LazyEnv
from whimbrel.engine.request import Request
from whimbrel.engine.response import Response
from whimbrel.engine.specialized.budget import LearnedBudget
from whimbrel.engine.specialized.directories import SpecializedResponses
from whimbrel.engine.specialized.split_path import LineParts
from whimbrel.engine.tls import TlsSession
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.head_shape import NO_SHAPE, HeadShapes, Pieces, SplitHead, line_of
from whimbrel.http.syntax.line_reader import HeadLimits

MAX_BODY: Final = 512 * 1024
MAX_WEIGHT: Final = 2 * MAX_BODY  # bytes of one response with what belongs to it
# bounds of the two levels, for all indexes together: exact heads, keys
MAX_HEAD_BYTES: Final = 8 * 1024 * 1024
MAX_HEADS: Final = 4096
MAX_BYTES: Final = 16 * 1024 * 1024
MAX_ENTRIES: Final = 8192
MAX_SEEN: Final = 4096  # heads that came once
MAX_INDEXES: Final = 256  # addresses of the server
MAX_UNLISTED: Final = 64  # names of TLS clients that no server has, such as those that a wildcard covers
MAX_LINES: Final = 4096  # request lines whose fields are known, and their bytes
MAX_LINE_BYTES: Final = 1024 * 1024


IndexKey = tuple[str, int, str | None]


class ResponseCache:
    """The response cache of one engine: one `CacheIndex` for each address that it listens on, and for each
    server name (SNI) that clients indicate there.

    All bounds are for the whole cache. Beyond `MAX_INDEXES` keys the index that was used longest ago is
    dropped.

    *has_first*: the first response of a connection of HTTP/1 may announce protocols, so an index of its own
    has these (`CacheIndex.first`).
    """

    __slots__ = (
        "_indexes",
        "_lines_bytes",
        "_unlisted",
        "by_bytes",
        "by_key",
        "learned",
        "listings",
        "seen",
        "shapes",
        "specs",
        "has_first",
        "stats",
    )

    def __init__(self, stats: TickStatCache | None = None, *, has_first: bool = False) -> None:
        self.has_first = has_first
        self._indexes: dict[IndexKey, CacheIndex] = {}
        self._unlisted: dict[IndexKey, CacheIndex] = {}
        self.stats = TickStatCache() if stats is None else stats
        self.learned = LearnedBudget()
        self.listings = DirectoryListings()
        self.by_bytes = SecondChance(MAX_HEADS, MAX_HEAD_BYTES)
        self.by_key = SecondChance(MAX_ENTRIES, MAX_BYTES)
        self.specs = KeySpecs(self.forget_lines)
        self.shapes = HeadShapes()
        self._lines_bytes = 0
        self.seen = Doorkeeper(MAX_SEEN)

    def index(self, address: str, port: int, tls: TlsSession | None = None) -> CacheIndex:
        """Return the index of one of the server's addresses: for HTTP, or for TLS with the server name of
        *tls*.

        Names that no server has are in indexes of their own, so invented names cannot evict the others.
        """
        indexes = self._indexes
        most = MAX_INDEXES
        if tls is not None and not tls.is_listed_name:
            indexes = self._unlisted
            most = MAX_UNLISTED
        key = (address, port, None if tls is None else tls.server_name)
        index = indexes.pop(key, None)
        if index is None:
            index = CacheIndex(self)
            if len(indexes) >= most:
                indexes.pop(next(iter(indexes))).close()
        indexes[key] = index
        return index

    def index_of(self, connection: Connection) -> CacheIndex:
        """Return the index for requests of *connection*."""
        index = self.index(connection.local_ip, connection.local_port, connection.tls)
        if connection.is_http2:
            return index.http2
        return index if connection.served else index.first

    def indexes(self) -> Iterator[CacheIndex]:
        """Iterate over all indexes, including those of HTTP/2."""
        for index in (*self._indexes.values(), *self._unlisted.values()):
            yield from index.members()

    def clear(self) -> None:
        """Drop everything."""
        self.learned = LearnedBudget()
        for index in self.indexes():
            index.clear()
        self._lines_bytes = 0
        self.seen.clear()

    def note_line(self, line: bytes) -> None:
        """Account for one more line of an index; drop all indexes' lines beyond the bound in bytes."""
        self._lines_bytes += len(line) + LINE_COST
        if self._lines_bytes > MAX_LINE_BYTES:
            self.forget_lines()
            self._lines_bytes = len(line) + LINE_COST

    def forget_lines(self) -> None:
        """Drop all request lines."""
        self._lines_bytes = 0
        for index in self.indexes():
            index.forget_lines()

    def store(
        self, head: Head, response: Response, writers: tuple[Any, ...], *, is_admitted: bool = True
    ) -> None:
        """Store *response* if it depends on nothing but the head, the client's address and files that are
        settled; *writers* are its access logs.

        One that is not admitted is used only to learn from it.
        """
        r = response.request
        if not is_cacheable(r, response) or (head.url is not None and head.url.password is not None):
            return
        if (r.deps.clock_fields or r.keepalive_max or r.body_factory is not None) and any(
            logs_slot(r, w) for w in writers
        ):
            return
        is_general = not any(writer.reads_path for writer in writers)
        writers, files = tuple(w for w in writers if w.matches(r)), r.deps
        if not r.may_cache:
            return  # a log shows a value that is unique to this request
        files.on_query = (
            files.on_query
            or r.prev is not None
            or r.body_factory is not None
            or not is_cacheable_head(head)
            # another request replaced it (DirectoryIndex), and logs show that one
            or r.untracked_args != head.query
            or r.env.__class__ not in (dict, LazyEnv)
        )  # a document's variables, QUERY_STRING among them, for logs
        body = b"".join(part for part in response.parts if isinstance(part, bytes))
        if len(body) > MAX_BODY:
            return
        file = next((part for part in response.parts if isinstance(part, FileSegment)), None)
        split = self.shapes.split(head.raw)
        own = split or (head.raw, (), NO_SHAPE, False)
        cached = CachedResponse(response, head, own, body, writers, file)
        if cached.weight > MAX_WEIGHT or not has_plain_form(head.raw):
            return
        index = self.index_of(r.connection)
        if is_last(r, response):
            index = index.last
        has_key = is_cacheable_head(head)
        if split is not None and has_key and is_general:
            index.learn(cached, r, split)
        if is_admitted and has_key and split is not None:
            index.put(cached, split, r.headers_in)
        elif is_admitted and not has_key:
            index.put_exact(cached, head.raw)
        cached.release_request(RawHead(head.raw))


class CacheIndex:
    """The cached responses of one address; bounded in number and bytes.

    *http2* is the index of HTTP/2 requests: bytes sent as HTTP/1 never match an entry of HTTP/2, nor the
    reverse. *first* is that of the first requests of connections; it is the index itself unless the responses
    to these differ (`ResponseCache.has_first`). *last* is that of responses that close a connection which has
    had its number of requests (MaxKeepAliveRequests).

    Only complete heads of the plain form (`has_plain_form`) are stored, and only such bytes match
    (`KeySpec.build_key`). A hit is therefore the response of the general path to the same bytes, or to bytes
    that differ in nothing that the path read.

    `by_head` is the first level, `by_key` the second; `SecondChance` bounds them. A head is admitted to the
    first on its second occurrence, so unique heads cannot evict entries.
    """

    __slots__ = (
        "_answers",
        "_closed",
        "_lines",
        "by_head",
        "by_key",
        "first",
        "http2",
        "last",
        "specialized",
    )

    def __init__(self, answers: ResponseCache, *, is_part: bool = False) -> None:
        self.by_head: dict[bytes, CachedResponse] = {}
        self.by_key: dict[Key, CachedResponse] = {}
        self._answers = answers
        self._closed = False
        self.specialized = SpecializedResponses(answers.listings)
        self.http2: CacheIndex = self if is_part else CacheIndex(answers, is_part=True)
        has_first = answers.has_first and not is_part
        self.first: CacheIndex = CacheIndex(answers, is_part=True) if has_first else self
        self.last: CacheIndex = self if is_part else CacheIndex(answers, is_part=True)
        self.clear()

    def members(self) -> list[CacheIndex]:
        """Return this index with those of HTTP/2, of first requests and of last ones."""
        return [self, *[index for index in (self.http2, self.first, self.last) if index is not self]]

    def clear(self) -> None:
        """Drop everything; `by_head` stays the same object."""
        self._answers.by_bytes.drop(self.by_head)
        self._answers.by_key.drop(self.by_key)
        self._lines: BoundedDict[bytes, KeySpec] = BoundedDict(MAX_LINES)
        self.specialized.clear()

    def close(self) -> None:
        """Drop everything and store nothing more; connections that hold this index find nothing."""
        for index in self.members():
            index._closed = True
            index.clear()

    def forget_lines(self) -> None:
        """Drop the request lines; entries that depend on some fields are then found by exact bytes."""
        self._lines.clear()

    def lookup(self, connection: Connection, raw: bytes, limits: HeadLimits, tick: int | None) -> Hit | None:
        """Return the valid response for the bytes of a head, with the head in pieces; None without one.

        *limits* are those for heads; *tick*: see `Validity.holds`.
        """
        cached = self.by_head.get(raw)
        if cached is not None and cached.is_valid(connection, tick):
            return cached, cached.log.own
        hit = self.find(connection, raw, limits, tick)
        return hit if hit is not None and hit[0].is_valid(connection, tick) else None

    def find(self, connection: Connection, raw: bytes, limits: HeadLimits, tick: int | None) -> Hit | None:
        """Return what `lookup` does, not yet validated, for a head without a valid entry in `by_head`."""
        if len(raw) > limits.plain:
            return None
        answers = self._answers
        client = connection.client_ip
        missing = b""
        # the usual case: the head has the shape of the client's last one
        shape = answers.shapes.by_number.get(connection.shape)
        match = None if shape is None else shape.match_plain(raw)
        if match is not None and shape is not None:
            pieces: Pieces = match.groups()
            head: SplitHead = raw, pieces, shape, True
        else:
            split = answers.shapes.split(raw)
            if split is None:
                return None
            head = split
            _raw, pieces, shape, _is_printable = head
            connection.shape = shape.number
        if shape.count > limits.most_fields:
            return None
        bare = pieces[0] + pieces[2]
        spec = self._lines.get(bare)
        cached = None
        if spec is not None:
            line = line_of(pieces) if spec.by_query else bare
            key = (shape.keys.get(spec.number) or spec.add_key(shape))(pieces, line, client)
            cached = self.by_key.get(key)
        if cached is None:
            answer = self.specialized.respond(pieces, head, client, tick, answers.stats)
            if answer is None:
                return None
            cached, spec, missing = answer
            if spec is not None:
                self._put_own(cached, head, bare, spec, client)
        validity = cached.validity
        if connection.served >= validity.max_served:
            return None if self.last is self else self.last.lookup(connection, raw, limits, tick)
        mark = hash(raw)
        marks = answers.seen.marks
        if mark not in marks and len(marks) < MAX_SEEN:  # as `has_seen` does
            marks.add(mark)
        elif answers.seen.has_seen(mark) and validity.holds(connection, tick):
            # One that is not valid leads to the general path. A head in a pipeline is looked up again then,
            # which is no second occurrence.
            if missing:
                absence = answers.stats.dependency(missing, False, None)
                validity = validity.with_dependencies((*validity.dependencies, absence))
            self.put_exact(cached.copy(own=head, validity=validity), raw)
        return cached, head

    def forget_lookup(self, raw: bytes) -> None:
        """Take back the occurrence of a head that will be looked up again for the same request."""
        self._answers.seen.marks.discard(hash(raw))

    def split(self, raw: bytes, limits: HeadLimits) -> SplitHead | None:
        """Return a head in pieces (`HeadShapes.split`); None if the general path has to read it."""
        if len(raw) > limits.plain:
            return None
        head = self._answers.shapes.split(raw)
        return None if head is None or head[2].count > limits.most_fields else head

    def answer_line(
        self, connection: Connection, parts: LineParts, head: SplitHead, tick: int | None
    ) -> tuple[CachedResponse, object] | None:
        """Return the answer to a request line in *parts* with the fields of *head*: that which is stored for
        the line with any query, or that of a specialized function.

        With it comes what other requests get too: the response itself or its `origin`, None for neither.
        """
        bare = parts[0] + parts[2]
        client = connection.client_ip
        spec = self._lines.get(bare)
        is_own = False
        if spec is not None and spec.by_query:
            return None
        response = None if spec is None else self.by_key.get(spec.build_key(head, bare, client))
        if response is None:
            answer = self.specialized.respond(parts, head, client, tick, self._answers.stats)
            if answer is None:
                return None
            response, spec, missing = answer
            is_own = spec is not None or not missing
        shared = response.origin or (None if is_own else response)
        return (response, shared) if response.is_valid(connection, tick) else None

    def _put_own(
        self, response: CachedResponse, head: SplitHead, bare: bytes, spec: KeySpec, client: str
    ) -> None:
        """Store a response that a specialized function made for one path alone, as an entry of its own."""
        if self._lines.get(bare) in (None, spec):
            key = spec.build_key(head, bare, client)
            if key:
                self._note_line(bare, spec)
                response.weight += len(head[0])  # the key has parts of it
                self._put(key, response)

    def learn(self, cached: CachedResponse, r: Request, head: SplitHead) -> None:
        """Learn the answer for other names in the directory of *r*, to which *cached* is the response."""
        if self._closed:
            return
        weight = self.specialized.learn(cached, r, head, partial(self._covering, cached, r.headers_in))
        if weight and self._answers.learned.overflows(weight):
            for index in self._answers.indexes():
                index.specialized.clear()

    def put(self, cached: CachedResponse, head: SplitHead, accessed: Any) -> None:
        """Store a response to *head*; *accessed* are the request's fields with the record of their reads.
        Without a key for heads with other bytes it is stored for these bytes only.
        """
        raw, pieces, _shape, _is_printable = head
        bare = pieces[0] + pieces[2]
        known = self._lines.get(bare)
        spec = self._covering(cached, accessed, known)
        key: Key = ()
        if spec is not None:
            if spec is not known:
                self._note_line(bare, spec)
            client = cached.request.connection.client_ip
            key = spec.build_key(head, line_of(pieces) if spec.by_query else bare, client)
        if key:
            self._put(key, cached)
        else:
            self.put_exact(cached, raw)

    def _note_line(self, bare: bytes, spec: KeySpec) -> None:
        self._answers.note_line(bare)
        self._lines[bare] = spec

    def _covering(self, cached: CachedResponse, fields: object, known: KeySpec | None) -> KeySpec | None:
        """Return a key specification that covers *cached*, and *known*; see `KeySpecs.covering`."""
        return self._answers.specs.covering(
            fields,
            cached.validity.address_lists,
            known,
            by_client=cached.validity.client is not None,
            by_query=not cached.log.any_query,
        )

    def _put(self, key: Key, cached: CachedResponse) -> None:
        if not self._closed:
            self._answers.by_key.put(self.by_key, key, cached)

    def put_exact(self, cached: CachedResponse, head: bytes) -> None:
        """Store a response to the bytes of one head."""
        if not self._closed:
            self._answers.by_bytes.put(self.by_head, head, cached)
