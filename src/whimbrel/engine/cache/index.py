"""Where kept answers are found, on two levels: by the exact bytes of a head, and behind that by its request line and the fields that mattered.

Which fields mattered is what was asked of the request's fields while the answer was made (http/asked.py): clients that differ in others, as real ones
do with every cookie, find the same answer.  So does every query where nobody asked for it (`Request.args`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.cache import key as raw_head
from whimbrel.engine.cache.entry import CachedResponse, has_untracked_clock_field
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
from whimbrel.engine.input.body import FileSegment
from whimbrel.engine.request import Request
from whimbrel.engine.response import Framing, Response
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.http.syntax.head import Head, HeadLimits

MAX_BODY: Final = 512 * 1024
MAX_WEIGHT: Final = 2 * MAX_BODY  # bytes of one answer with what belongs to it
# of each of the two generations of each of the two levels, in all books together
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_ENTRIES: Final = 4096
MAX_INDEXES: Final = 256  # addresses of the server
MAX_LINES: Final = 4096  # request lines whose fields are known, and their bytes
MAX_LINE_BYTES: Final = 1024 * 1024
MAX_FIELDS: Final = 32  # fields that one request line's answers may depend on
MAX_SETS: Final = 32  # different sets of such fields
MAX_LISTS: Final = (
    64  # lists of addresses, and sets of values of one field; who depends on more depends on all of it
)
NOTHING: Final = (None, None)
HTTP_2: Final = (2, 0)


class WeightBudget:
    """What the young generations of one level hold, in all books together."""

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
    """The kept answers of one engine: one `Book` for each address that it listens on.

    Bounds hold for all books together.  Of more than `MAX_BOOKS` addresses the one to which no connection was
    made for longest has no book any more.
    """

    __slots__ = ("_indexes", "_lines_bytes", "_sets", "_key_spec_count", "by_bytes", "by_key", "seen")

    def __init__(self) -> None:
        self._indexes: dict[tuple[str, int], CacheIndex] = {}
        self.by_bytes, self.by_key = WeightBudget(), WeightBudget()
        self._sets: dict[tuple[frozenset[str], frozenset[str], Lists, Tests], KeySpec] = {}
        self._key_spec_count = self._lines_bytes = 0
        self.seen: set[int] = set()  # hashes of heads that came once

    def index(self, address: str, port: int) -> CacheIndex:
        """The answers kept for requests to one of the server's addresses."""
        found = self._indexes.pop((address, port), None)
        if found is None:
            found = CacheIndex(self)
            if len(self._indexes) >= MAX_INDEXES:
                self._indexes.pop(next(iter(self._indexes))).close()
        self._indexes[address, port] = found
        return found

    def indexes(self) -> Iterator[CacheIndex]:
        """All books, those for HTTP/2 among them."""
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
        """The one set of these fields."""
        found = self._sets.get((names, logged, lists, tests))
        if found is None:
            if len(self._sets) >= MAX_SETS:
                self._sets.clear()
                self.forget_lines()
            self._key_spec_count += 1
            found = KeySpec(names, logged, lists, tests, self._key_spec_count)
            self._sets[names, logged, lists, tests] = found
        return found

    def note_line(self, line: bytes) -> None:
        """A book will remember one more request line: those of all are dropped where that would be too many
        bytes.
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

    def store(self, head: Head, answer: Response, writers: tuple[Any, ...], logged: frozenset[str]) -> None:
        """Keep *answer* if it depended on nothing but the head, the client's address and files that have been at rest.

        *writers* are its access logs, *told* the request fields in them.
        """
        r = answer.request
        if not _is_cacheable(r, answer) or (head.url is not None and head.url.password is not None):
            return
        if r.deps.clock_fields and any(w.logs_response_fields for w in writers):
            return
        writers, files = tuple(w for w in writers if w.matches(r)), r.deps
        if not r.may_cache:
            return  # whether a log tells of it goes by what no other request has
        files.on_query = (
            files.on_query
            or r.prev is not None
            or r.body_factory is not None
            or not is_cacheable_head(head)
            or r.untracked_args != head.query  # another took its place (DirectoryIndex), which logs tell
            or r.env.__class__ not in (dict, LazyEnv)
        )  # a document's variables, QUERY_STRING among them, for logs
        body = b"".join(part for part in answer.parts if isinstance(part, bytes))
        if len(body) > MAX_BODY:
            return
        file = next((part for part in answer.parts if isinstance(part, FileSegment)), None)
        cached, connection = CachedResponse(answer, head, body, writers, file), r.connection
        if cached.weight <= MAX_WEIGHT and raw_head.has_plain_form(head.raw):
            bare, index = RawHead(head.raw), self.index(connection.local_ip, connection.local_port)
            (index.http2 if head.version >= HTTP_2 else index).put(cached, head, bare, r.headers_in, logged)
            cached.release_request(bare)


class CacheIndex:
    """The kept answers for one address; bounded in number and bytes.

    *http2* holds those to requests of HTTP/2, so that no bytes sent as HTTP/1 find one of them, nor the
    reverse.

    Every head in it has a plain form (`has_plain_form`), and no other bytes than a whole head of that form
    find anything (`FieldSet.sort`): what
    answers some bytes is what the general path made of the same bytes, or of others that differ in nothing
    that it looked at.

    Of each level there are two generations: what was asked since the last change of generation survives the next.  `exact` is the young one of the
    first level; a head gets there when its bytes come a second time, so that clients whose heads all differ push nothing out.  *near* is a line that
    `find` has just met for the first time, which is worth nothing, and the key of its head.
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
        """Drop everything and keep nothing more: connections that began while the address had this book find
        nothing.
        """
        for index in (self, self.http2):
            index._closed = True
            index.clear()

    def forget_lines(self) -> None:
        """Drop the request lines; answers that depend on some fields only are then found by exact bytes, or
        no more.
        """
        self._lines.clear()

    def lookup(
        self, connection: Connection, raw: bytes, limits: HeadLimits, tick: int, spare: int = 0
    ) -> tuple[CachedResponse | None, RawHead | None]:
        """The kept answer for the bytes of a head, if there is one that holds, and the head where it is not the same to the byte.

        *spare* lines of the bytes are none that the client has sent: then they stand for a head of HTTP/2.
        For the others see `find`.
        """
        cached, logged = (self.http2 if spare else self).lookup_raw(connection, raw, limits, tick, spare)
        return cached, None if logged is None else RawHead(raw, logged)

    def lookup_raw(
        self, connection: Connection, raw: bytes, limits: HeadLimits, tick: int, spare: int = 0
    ) -> tuple[CachedResponse | None, LoggedLines | None]:
        """`look` with the lines that access logs tell in the place of the head.

        *limits* are those for heads; *turn*: see `Kept.valid`.
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
        """What `find` gives for a head that is *near*, None where that has to be found out."""
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
        """Keep an answer to *head*, whose bytes are *bare*.

        *asked* are the request's fields with what was asked of them, *told* the fields in its access logs.
        """
        key = self._key(cached, head, bare, accessed, logged)
        if key is None:
            self._put_by_head(head.raw, cached)
        else:
            self._put(key, cached)

    def _key(
        self, cached: CachedResponse, head: Head, bare: RawHead, accessed: Any, logged: frozenset[str]
    ) -> Key | None:
        """Under what other heads find the answer; None where they can't."""
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
            present = [one.partition(b":")[0].lower() for one in lines[1:-2]]
            if any(present.count(name) > 1 for name in known.tested):
                return None  # tests are made of the values joined
        found = known.build_key(lines, line, cached.request.connection.client_ip)
        return None if found is None else found[0]

    def _key_spec_for(
        self, names: frozenset[str], logged: frozenset[str], own: Lists, tests: Tests, known: KeySpec | None
    ) -> KeySpec:
        """The set of what an answer depends on, and of what others to its request line do (*known*)."""
        lists, sets = own, dict(tests)
        if known is not None:
            names, logged = names | known.names, logged | known.logged
            lists = tuple(dict.fromkeys(known.lists + own))
            sets = {
                **dict(known.tests),
                **{
                    name: tuple(dict.fromkeys((*dict(known.tests).get(name, ()), *more)))
                    for name, more in tests
                },
            }
        if len(lists) > MAX_LISTS:
            lists = own  # the others may be those of settings that are gone
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
    """Whether all *tests* are among those of a set."""
    there = dict(known.tests) if tests else {}
    return all(name in known.names or set(many) <= set(there.get(name, ())) for name, many in tests)


def is_cacheable_head(head: Head) -> bool:
    """Whether a head says nothing that only its bytes could tell: no error, no body, no expectation, no
    fragment before what looks like a query.
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


def _has_cacheable_body(r: Request, answer: Response) -> bool:
    """Whether the body is bytes, or one file as it is; and nothing but the handler makes a body that is to be made anew."""
    parts, old = answer.parts, r.proto < (2, 0)
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
        and answer.framing is Framing.LENGTH
        and r.status == 200
        and r.finfo is not None
        and part.length == r.finfo.st_size
    )


def _is_cacheable(r: Request, answer: Response) -> bool:
    if not r.may_cache or r.connection.is_draining or r.method_number != 0 or r.assbackwards:
        return False
    if answer.stream is not None or answer.framing is Framing.CLOSE:
        return False
    if r.connection.proxied is not None:
        return False  # answers are kept by the connection's address, which is the proxy's here, whatever the virtual host says
    if r.next is not None:
        return False  # its ErrorDocument failed: logs tell of that one, which has sent nothing
    if r.body_in.length != 0 or not _has_cacheable_body(r, answer):
        return False
    if (
        answer.close
        and "nokeepalive" not in r.env
        and 0 < r.server_conf(CoreServerConfig).max_keep_alive <= r.connection.served
    ):
        return False  # the connection has had its number of requests: others have not
    return r.deps.is_settled(r.time) and not has_untracked_clock_field(r, answer.head_suffix)
