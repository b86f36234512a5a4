"""Index of the response cache, on two levels: the exact bytes of a head, then the request line with the
fields that the response depends on.

The fields are those that were read while the response was built (http/semantics/tracked_headers.py). Clients
whose heads differ in other fields, such as cookies, share an entry; so do queries where no code read
`Request.args`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache import key as raw_head
from whimbrel.engine.cache.entry import CachedResponse, has_lost_slot
from whimbrel.engine.cache.key import (
    BY_CLIENT,
    BY_QUERY,
    HeadPattern,
    Key,
    KeySpec,
    Lists,
    LoggedLines,
    RawHead,
    Tests,
    without_query,
)
from whimbrel.engine.connection import Connection
from whimbrel.engine.env import LazyEnv
from whimbrel.engine.request import Request
from whimbrel.engine.response import Framing, Response
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.http.syntax.head import Head, HeadLimits

MAX_BODY: Final = 512 * 1024
MAX_WEIGHT: Final = 2 * MAX_BODY  # bytes of one response with what belongs to it
# bounds of each of the two generations of each level, for all indexes together
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_ENTRIES: Final = 4096
MAX_INDEXES: Final = 256  # addresses of the server
MAX_LINES: Final = 4096  # request lines whose fields are known, and their bytes
MAX_LINE_BYTES: Final = 1024 * 1024
MAX_FIELDS: Final = 32  # fields that responses to one request line may depend on
MAX_SETS: Final = 32  # number of different key specifications
MAX_LISTS: Final = (
    64  # lists of addresses, and sets of values of one field; who depends on more depends on all of it
)
NOTHING: Final = (None, None)


class WeightBudget:
    """Entries and bytes in the young generations of one level, for all indexes together."""

    __slots__ = ("bytes", "entries")

    def __init__(self) -> None:
        self.bytes = self.entries = 0

    def overflows(self, weight: int) -> bool:
        """Count one more entry; return True if it must be the first of a new generation."""
        self.bytes += weight
        self.entries += 1
        if self.entries <= MAX_ENTRIES and self.bytes <= MAX_BYTES:
            return False
        self.bytes, self.entries = weight, 1
        return True


class ResponseCache:
    """The response cache of one engine: one `CacheIndex` for each address that it listens on.

    All bounds are for the whole cache. Beyond `MAX_BOOKS` addresses the index that was used longest ago is
    dropped.
    """

    __slots__ = ("_indexes", "_lines_bytes", "_sets", "_key_spec_count", "by_bytes", "by_key", "seen")

    def __init__(self) -> None:
        self._indexes: dict[tuple[str, int], CacheIndex] = {}
        self.by_bytes, self.by_key = WeightBudget(), WeightBudget()
        self._sets: dict[tuple[frozenset[str], frozenset[str], Lists, Tests], KeySpec] = {}
        self._key_spec_count = self._lines_bytes = 0
        self.seen: set[int] = set()  # hashes of heads that came once

    def index(self, address: str, port: int) -> CacheIndex:
        """Return the index of one of the server's addresses."""
        index = self._indexes.pop((address, port), None)
        if index is None:
            index = CacheIndex(self)
            if len(self._indexes) >= MAX_INDEXES:
                self._indexes.pop(next(iter(self._indexes))).close()
        self._indexes[address, port] = index
        return index

    def indexes(self) -> Iterator[CacheIndex]:
        """Iterate over all indexes, including those of HTTP/2."""
        for index in self._indexes.values():
            yield index
            if index.http2 is not index:
                yield index.http2

    def clear(self) -> None:
        """Drop everything."""
        for index in self.indexes():
            index.clear()
        self.by_bytes, self.by_key = WeightBudget(), WeightBudget()
        self._lines_bytes = 0
        self.seen.clear()

    def key_spec_for(
        self, names: frozenset[str], logged: frozenset[str], lists: Lists, tests: Tests
    ) -> KeySpec:
        """Return the one set of these fields."""
        spec = self._sets.get((names, logged, lists, tests))
        if spec is None:
            if len(self._sets) >= MAX_SETS:
                self._sets.clear()
                self.forget_lines()
            self._key_spec_count += 1
            spec = KeySpec(names, logged, lists, tests, self._key_spec_count)
            self._sets[names, logged, lists, tests] = spec
        return spec

    def note_line(self, line: bytes) -> None:
        """Account for one more request line in an index; drop the lines of all indexes where they exceed the
        bound in bytes.
        """
        self._lines_bytes += len(line) + raw_head.LINE_COST
        if self._lines_bytes > MAX_LINE_BYTES:
            self.forget_lines()
            self._lines_bytes = len(line) + raw_head.LINE_COST

    def forget_lines(self) -> None:
        """Drop all request lines."""
        self._lines_bytes = 0
        for index in self.indexes():
            index.forget_lines()

    def store(self, head: Head, response: Response, writers: tuple[Any, ...], logged: frozenset[str]) -> None:
        """Store *response* if it depends on nothing but the head, the client's address and files that are
        settled.

        *writers* are its access logs, *logged* the request fields in them.
        """
        r = response.request
        if not _is_cacheable(r, response) or (head.url is not None and head.url.password is not None):
            return
        if (r.deps.clock_fields or r.keepalive_max or r.body_factory is not None) and any(
            _logs_slot(r, w) for w in writers
        ):
            return
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
        cached, connection = CachedResponse(response, head, body, writers, file), r.connection
        if cached.weight <= MAX_WEIGHT and raw_head.has_plain_form(head.raw):
            bare, index = RawHead(head.raw), self.index(connection.local_ip, connection.local_port)
            (index.http2 if connection.is_http2 else index).put(cached, head, bare, r.headers_in, logged)
            cached.release_request(bare)


class CacheIndex:
    """The cached responses of one address; bounded in number and bytes.

    *http2* is the index of HTTP/2 requests: bytes sent as HTTP/1 never match an entry of HTTP/2, nor the
    reverse.

    Only complete heads of the plain form (`has_plain_form`) are stored, and only such bytes match
    (`KeySpec.build_key`). A hit is therefore the response of the general path to the same bytes, or to bytes
    that differ in nothing that the path read.

    Each level has two generations: an entry that was used since the last change of generation survives the
    next. `by_head` is the young generation of the first level. A head is admitted there on its second
    occurrence, so unique heads cannot evict entries. `pattern_candidate` is a line without relevance that
    `lookup_raw` met for the first time, with the key of its head.
    """

    __slots__ = (
        "_answers",
        "_closed",
        "_lines",
        "_old_generation",
        "_old_by_head",
        "_young_generation",
        "by_head",
        "http2",
        "pattern_candidate",
    )

    def __init__(self, answers: ResponseCache, *, http2: bool = False) -> None:
        self.by_head: dict[bytes, CachedResponse] = {}
        self._answers, self._closed = answers, False
        self.http2: CacheIndex = self if http2 else CacheIndex(answers, http2=True)
        self.clear()

    def clear(self) -> None:
        """Drop everything; `exact` stays the same object."""
        self.by_head.clear()
        self._old_by_head: dict[bytes, CachedResponse] = {}
        self._young_generation: dict[Key, CachedResponse] = {}
        self._old_generation: dict[Key, CachedResponse] = {}
        self._lines: BoundedDict[bytes, KeySpec] = BoundedDict(MAX_LINES)
        self.pattern_candidate: tuple[bytes, Key] | None = None

    def close(self) -> None:
        """Drop everything and store nothing more; connections that hold this index find nothing."""
        for index in (self, self.http2):
            index._closed = True
            index.clear()

    def forget_lines(self) -> None:
        """Drop the request lines; entries that depend on some fields are then found by exact bytes, or not at
        all.
        """
        self._lines.clear()

    def lookup(
        self, connection: Connection, raw: bytes, limits: HeadLimits, tick: int, spare: int = 0
    ) -> tuple[CachedResponse | None, RawHead | None]:
        """Return the cached response for the bytes of a head, if one is valid, and the head where its bytes
        differ from the cached one's.

        The last *spare* lines were not sent by the client: they stand for a head of HTTP/2. For the other
        parameters see `lookup_raw`.
        """
        cached, logged = (self.http2 if spare else self).lookup_raw(connection, raw, limits, tick, spare)
        return cached, None if logged is None else RawHead(raw, logged)

    def lookup_raw(
        self, connection: Connection, raw: bytes, limits: HeadLimits, tick: int, spare: int = 0
    ) -> tuple[CachedResponse | None, LoggedLines | None]:
        """`lookup` that returns the lines shown in access logs in place of the head.

        *limits* are those for heads; *tick*: see `CachedResponse.is_valid`.
        """
        cached = self.by_head.get(raw)
        if cached is None and self._old_by_head:
            cached = self._old_by_head.get(raw)
            if cached is not None:
                self._put_by_head(raw, cached)
        if cached is not None and cached.is_valid(connection, tick):
            return cached, None
        if len(raw) > limits.plain:
            return NOTHING
        lines = raw.split(b"\r\n")
        bare = lines[0]
        if b"?" in bare:
            bare = without_query(bare)
        fields = self._lines.get(bare)
        if fields is None or 0 < limits.fields < len(lines) - 3 - spare:
            return NOTHING
        sorted_lines = fields.build_key(lines, bare, connection.client_ip)
        if sorted_lines is None:
            return NOTHING
        key, logged = sorted_lines
        self.pattern_candidate = (
            (fields.latest, key) if fields.latest or (bare is not lines[0] and not fields.by_query) else None
        )
        cached = self._young_generation.get(key)
        if cached is None:
            cached = self._old_generation.get(key)
            if cached is None:
                return NOTHING
            self._put(key, cached)
        mark, seen = hash(raw), self._answers.seen
        if mark in seen:
            self._put_by_head(raw, cached.clone_for(RawHead(raw, logged)))
        elif len(seen) < MAX_ENTRIES:
            seen.add(mark)
        else:
            self._answers.seen = {mark}
        return (
            (cached, logged)
            if (cached.ready_tick_any_head == tick and connection.served < cached.max_served)
            or cached.is_valid(connection, tick)
            else NOTHING
        )

    def lookup_pattern(
        self, connection: Connection, raw: bytes, pattern: HeadPattern, tick: int
    ) -> CachedResponse | None:
        """Return the result of `lookup_raw` for a head that matches a pattern; None if `lookup_raw` has to
        decide.
        """
        cached = self._young_generation.get(pattern.key)
        if cached is None or not pattern.matches(raw):
            return None
        return (
            cached
            if (cached.ready_tick_any_head == tick and connection.served < cached.max_served)
            or cached.is_valid(connection, tick)
            else None
        )

    def put(
        self, cached: CachedResponse, head: Head, bare: RawHead, accessed: Any, logged: frozenset[str]
    ) -> None:
        """Store a response to *head*, whose bytes are *bare*.

        *accessed* are the request's fields with the record of their reads, *logged* the fields in its access
        logs.
        """
        key = self._key(cached, head, bare, accessed, logged)
        if key is None:
            self._put_by_head(head.raw, cached)
        else:
            self._put(key, cached)

    def _key(
        self, cached: CachedResponse, head: Head, bare: RawHead, accessed: Any, logged: frozenset[str]
    ) -> Key | None:
        """Return the key for heads with other bytes; None if there is none."""
        if (
            not isinstance(accessed, TrackedHeaders)
            or accessed.all_fields_used
            or len(accessed.accessed) + len(accessed.tests) > MAX_FIELDS
            or not is_cacheable_head(head)
        ):
            return None
        lines = bare.raw.split(b"\r\n")
        line = without_query(lines[0])
        names = frozenset(accessed.accessed).union(
            (BY_CLIENT,) if cached.client is not None else (), () if cached.any_query else (BY_QUERY,)
        )
        known, tests = self._lines.get(line), tuple(accessed.tests.items())
        if known is None or not (
            names <= known.names
            and logged <= known.logged
            and (known.by_client or known.lists[: len(cached.address_lists)] == cached.address_lists)
            and _covers_predicates(tests, known)
        ):
            known = self._key_spec_for(names, logged, cached.address_lists, tests, known)
            self._answers.note_line(line)
            self._lines[line] = known
        if known.tested:
            present = [line_bytes.partition(b":")[0].lower() for line_bytes in lines[1:-2]]
            if any(present.count(name) > 1 for name in known.tested):
                return None  # predicates are evaluated on joined values
        key = known.build_key(lines, line, cached.request.connection.client_ip)
        return None if key is None else key[0]

    def _key_spec_for(
        self,
        names: frozenset[str],
        logged: frozenset[str],
        new_lists: Lists,
        tests: Tests,
        known: KeySpec | None,
    ) -> KeySpec:
        """Return the set of what a response depends on, and of what others to its request line do
        (*known*).
        """
        lists, sets = new_lists, dict(tests)
        if known is not None:
            names, logged = names | known.names, logged | known.logged
            lists = tuple(dict.fromkeys(known.lists + new_lists))
            sets = {
                **dict(known.tests),
                **{
                    name: tuple(dict.fromkeys((*dict(known.tests).get(name, ()), *more)))
                    for name, more in tests
                },
            }
        if len(lists) > MAX_LISTS:
            lists = new_lists  # the others may belong to settings that were replaced
        if BY_CLIENT in names or len(lists) > MAX_LISTS:
            names, lists = names | {BY_CLIENT}, ()
        names |= {name for name, many in sets.items() if len(many) > MAX_LISTS}
        tests = tuple(
            sorted(
                ((name, many) for name, many in sets.items() if name not in names), key=lambda pair: pair[0]
            )
        )
        return self._answers.key_spec_for(names, logged, lists, tests)

    def _put(self, key: Key, cached: CachedResponse) -> None:
        if self._closed:
            return
        if self._answers.by_key.overflows(cached.weight):
            for index in self._answers.indexes():
                index._old_generation, index._young_generation = index._young_generation, {}
        self._young_generation[key] = cached

    def _put_by_head(self, head: bytes, cached: CachedResponse) -> None:
        if self._closed:
            return
        if self._answers.by_bytes.overflows(cached.weight):
            for index in self._answers.indexes():
                index._old_by_head = index.by_head.copy()
                index.by_head.clear()
        self.by_head[head] = cached


def _covers_predicates(tests: Tests, known: KeySpec) -> bool:
    """Return True if *known* has all *tests*."""
    there = dict(known.tests) if tests else {}
    return all(name in known.names or set(many) <= set(there.get(name, ())) for name, many in tests)


def is_cacheable_head(head: Head) -> bool:
    """Return True if all that a head means is in its fields: no error, no body, no expectation, no fragment
    before a query.
    """
    return (
        not (
            head.error is not None
            or head.notes
            or head.close
            or head.chunked
            or head.length
            or head.length_bad
            or head.expect_continue
            or head.url is not None
            or "#" in head.target
        )
        and head.headers.is_unique
    )


def _has_cacheable_body(r: Request, response: Response) -> bool:
    """Return True if the body is bytes or one unmodified file, and a rebuilt body comes from the handler
    alone.
    """
    parts, old = response.parts, not r.connection.is_http2
    if r.body_factory is not None and (r.output_filters or not old):
        return False
    if all(isinstance(part, bytes) for part in parts):
        return True
    part = parts[0]
    return (
        old
        and len(parts) == 1
        and isinstance(part, FileSegment)
        and part.path == r.filename
        and response.framing is Framing.LENGTH
        and r.status == 200
        and r.finfo is not None
        and part.length == r.finfo.st_size
    )


def _is_cacheable(r: Request, response: Response) -> bool:
    if not r.may_cache or r.connection.is_draining or r.method_number != 0 or r.assbackwards:
        return False
    if response.framing is Framing.CLOSE:
        return False
    if r.connection.proxied is not None:
        # the key has the connection's address, which is the proxy's here, whatever the virtual host
        # configures
        return False
    if r.next is not None:
        return False  # its ErrorDocument failed: logs show that request, which has sent nothing
    if r.body_in.length != 0 or not _has_cacheable_body(r, response):
        return False
    if (
        response.close
        and "nokeepalive" not in r.env
        and 0 < r.server_conf(CoreServerConfig).max_keep_alive <= r.connection.served
    ):
        return False  # the connection has had its number of requests: others have not
    return r.deps.is_settled(r.time) and not has_lost_slot(r, response.slots)


def _logs_slot(r: Request, writer: Any) -> bool:
    """Return True if an access log shows a field that each use of the response computes anew."""
    fields = writer.response_fields
    return bool(
        (fields and r.deps.clock_fields)
        or (r.keepalive_max and "keep-alive" in fields)
        or (r.body_factory is not None and "content-length" in fields)
    )
