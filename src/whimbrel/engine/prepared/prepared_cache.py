"""Cache of prepared requests, and the keys under which they are found."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.engine.deps.files import unchanged
from whimbrel.engine.prepared.prepared_request import (
    PreparedRequest,
    can_prepare,
    depends_on_query,
    is_plain,
)
from whimbrel.engine.request import Request
from whimbrel.http.syntax.head import Head

# bounds of each of the two generations
MAX_BYTES: Final = 2 * 1024 * 1024
MAX_ENTRIES: Final = 512
MAX_WEIGHT: Final = 64 * 1024  # bytes of one entry
MAX_KEY: Final = 4096  # characters of the field values in a key
MAX_LINE: Final = 1024  # characters of a request line
MAX_FIELDS: Final = 32  # fields that the phases may depend on
MAX_LISTS: Final = 64  # lists of addresses, and sets of values of one field
MAX_CANDIDATES: Final = 4096  # hashes of keys
HEADS: Final = 6  # times that a key is there

RECORDED: Final = "recorded"  # `Request.preparation`: the phases recorded all that they depended on
Base = tuple[Any, ...]
Key = tuple[Any, ...]


class PreparedKeySpec:
    """What the phases of requests with one request line, host and address depend on.

    Attributes:
        names: the request fields that were read, in lower case; `tests`: the sets in which values of other
            fields were looked up.
        by_query, by_client: True if the query, or the client's address, was read.
        lists: the address lists in which the client was looked up.
    """

    __slots__ = ("by_client", "by_query", "lists", "names", "tests")
    names: tuple[str, ...]
    tests: tuple[tuple[str, tuple[Container[str], ...]], ...]
    lists: tuple[Container[str], ...]

    def __init__(self, r: Request, known: PreparedKeySpec | None) -> None:
        """Record what the phases of *r* read, and what those of earlier requests did (*known*)."""
        headers = r.headers_in
        deps = r.deps
        names = set(headers.accessed)  # type: ignore[attr-defined]
        tests = dict(headers.tests)  # type: ignore[attr-defined]
        lists = deps.address_lists
        self.by_client = deps.on_client
        self.by_query = depends_on_query(r)
        if known is not None:
            names |= set(known.names)
            for name, sets in known.tests:
                tests[name] = tuple(dict.fromkeys((*sets, *tests.get(name, ()))))
            lists = tuple(dict.fromkeys((*known.lists, *lists)))
            self.by_client = self.by_client or known.by_client
            self.by_query = self.by_query or known.by_query
        self.by_client = self.by_client or len(lists) > MAX_LISTS
        self.lists = () if self.by_client else lists
        names |= {name for name, sets in tests.items() if len(sets) > MAX_LISTS}
        self.names = tuple(sorted(names))
        self.tests = tuple(sorted((item for item in tests.items() if item[0] not in names), key=_name))

    def covers(self, other: PreparedKeySpec) -> bool:
        """Return True if this has all that *other* has, so that keys stay as they are."""
        return (self.names, self.tests, self.by_query, self.by_client, self.lists) == (
            other.names,
            other.tests,
            other.by_query,
            other.by_client,
            other.lists,
        )

    def key(self, base: Base, r: Request) -> Key:
        """Return the key of *r*: *base*, and all that the phases read; no other spec has the same keys."""
        fields = r.headers_in.entries()
        client = r.connection.client_ip
        values: list[Any] = []
        for name in self.names:
            entry = fields.get(name)
            values.append(None if entry is None else entry[1])
        for name, sets in self.tests:
            entry = fields.get(name)
            values.append(None if entry is None else tuple([entry[1] in values_ for values_ in sets]))
        if self.lists:
            client = "".join(["y" if client in addresses else "n" for addresses in self.lists])
        elif not self.by_client:
            client = ""
        return (base, self, client, r.untracked_args if self.by_query else None, *values)


def _name(item: tuple[str, Any]) -> str:
    return item[0]


class PreparedCache:
    """Requests whose phases up to the handler were run, for later requests for which they would do the same.

    Key: method, path, host, addresses and framing; and all that the phases read: fields, the query, the
    client's address or its membership in lists. Value: `PreparedRequest`; valid while the recorded files are
    unchanged, and no .htaccess file that was read has changed. Bound: `MAX_BYTES` and `MAX_ENTRIES` in each
    of two generations; an entry that was used since the last change of generation survives the next.

    A request is prepared if responses to its request line are not cached (`note`), on the second occurrence
    of its key after that.
    """

    __slots__ = ("_bytes", "_candidates", "_old", "_seen", "_specs", "_young")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Drop everything."""
        self._young: dict[Key, PreparedRequest] = {}
        self._old: dict[Key, PreparedRequest] = {}
        self._specs: BoundedDict[Base, PreparedKeySpec] = BoundedDict(MAX_ENTRIES)
        self._candidates: set[int] = set()
        self._seen: set[int] = set()
        self._bytes = 0

    def apply(self, r: Request) -> bool:
        """Set on *r* what its phases up to the handler would set; return False if they have to run."""
        if not self._candidates or hash(_mark(r.head)) not in self._candidates or not is_plain(r):
            return False
        base = _base(r)
        spec = self._specs.get(base)
        if spec is None:
            r.preparation = base
            return False
        key = spec.key(base, r)
        prepared = self._young.get(key)
        if prepared is None:
            prepared = self._old.get(key)
            if prepared is None:
                r.preparation = base
                return False
            self._put(key, prepared)
        files = r.engine.stat_cache
        if prepared.root is not r.plan or not unchanged(
            prepared.dependencies, files.tick if files.in_tick else -1
        ):
            del self._young[key]
            self._old.pop(key, None)
            r.preparation = base
            return False
        prepared.apply(r)
        r.preparation = prepared
        return True

    def offer(self, r: Request) -> None:
        """Store *r*, whose handler is next, if it is admitted."""
        base = r.preparation
        if base is None:
            if not (r.deps.is_uncacheable or r.deps.is_per_request):
                r.preparation = RECORDED
        elif can_prepare(r):
            self._admit(r, base)

    def note(self, r: Request) -> None:
        """Note that the response to *r* is not cached although its phases recorded what they depended on."""
        if len(r.untracked_line or "") <= MAX_LINE:
            if len(self._candidates) >= MAX_CANDIDATES:
                self._candidates.clear()
            self._candidates.add(hash(_mark(r.head)))

    def _admit(self, r: Request, base: Base) -> None:
        known = self._specs.get(base)
        spec = PreparedKeySpec(r, known)
        if len(spec.names) + len(spec.tests) > MAX_FIELDS:
            return
        if known is not None and known.covers(spec):
            spec = known
        else:
            self._specs[base] = spec
        key = spec.key(base, r)
        size = sum([len(value) for value in key[2:] if isinstance(value, str)])
        if size > MAX_KEY:
            return
        mark = hash(key)
        if mark not in self._seen:
            if len(self._seen) >= MAX_CANDIDATES:
                self._seen.clear()
            self._seen.add(mark)
            return
        prepared = PreparedRequest(r, r.engine.plans.root(r.server))
        prepared.weight += HEADS * size
        if prepared.weight <= MAX_WEIGHT:
            self._put(key, prepared)

    def _put(self, key: Key, prepared: PreparedRequest) -> None:
        self._bytes += prepared.weight
        if len(self._young) >= MAX_ENTRIES or self._bytes > MAX_BYTES:
            self._old, self._young, self._bytes = self._young, {}, prepared.weight
        self._young[key] = prepared


def _mark(head: Head) -> tuple[str | None, str, str | None]:
    """Return what a candidate is known by."""
    return head.method, head.uri, head.hostname


def _base(r: Request) -> Base:
    """Return what every phase may read without a record: request line, host, addresses, framing.

    The first request of a connection differs from later ones: a hook may announce protocols.
    """
    connection = r.connection
    length = r.body_in.length
    return (
        r.method,
        r.head.uri,
        r.hostname,
        r.port,
        r.protocol,
        r.untracked_args is None,
        None if length is None else length != 0,
        r.expecting_100,
        r.close,
        connection.served == 0,
        connection.is_http2,
        connection.local_ip,
        connection.local_port,
        None if connection.tls is None else connection.tls.server_name,
    )
