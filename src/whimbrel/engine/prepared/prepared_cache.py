"""Cache of prepared requests, and the keys under which they are found."""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.doorkeeper import Doorkeeper
from whimbrel.base.second_chance import SecondChance
from whimbrel.engine.deps.files import unchanged
from whimbrel.engine.deps.key_spec import Key, KeySpec, KeySpecs
from whimbrel.engine.prepared.prepared_request import (
    PreparedRequest,
    can_prepare,
    depends_on_query,
    is_plain,
)
from whimbrel.engine.request import Request
from whimbrel.http.syntax.head import Head

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_ENTRIES: Final = 1024
MAX_WEIGHT: Final = 64 * 1024  # bytes of one entry
MAX_KEY: Final = 4096  # characters of the field values in a key
MAX_LINE: Final = 1024  # characters of a request line
MAX_CANDIDATES: Final = 4096  # hashes of keys
HEADS: Final = 6  # times that a key is there

RECORDED: Final = "recorded"  # `Request.preparation`: the phases recorded all that they depended on
Base = tuple[Any, ...]


class PreparedCache:
    """Requests whose phases up to the handler were run, for later requests for which they would do the same.

    Key: method, path, host, addresses and framing; and all that the phases read: fields, the query, the
    client's address or its membership in lists. Value: `PreparedRequest`; valid while the recorded files are
    unchanged, and no .htaccess file that was read has changed. Bound: `MAX_BYTES` and `MAX_ENTRIES`
    (`SecondChance`).

    A request is prepared if responses to its request line are not cached (`note`), on the second occurrence
    of its key after that.
    """

    __slots__ = ("_candidates", "_entries", "_key_specs", "_level", "_seen", "_specs")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Drop everything."""
        self._entries: dict[Key, PreparedRequest] = {}
        self._level = SecondChance(MAX_ENTRIES, MAX_BYTES)
        self._specs: BoundedDict[Base, KeySpec] = BoundedDict(MAX_ENTRIES)
        self._key_specs = KeySpecs(self._specs.clear)
        self._candidates: set[int] = set()
        self._seen = Doorkeeper(MAX_CANDIDATES)

    def apply(self, r: Request) -> bool:
        """Set on *r* what its phases up to the handler would set; return False if they have to run."""
        if not self._candidates or hash(_mark(r.head)) not in self._candidates or not is_plain(r):
            return False
        base = _base(r)
        spec = self._specs.get(base)
        if spec is None:
            r.preparation = base
            return False
        key = spec.request_key(base, r)
        prepared = self._entries.get(key)
        if prepared is None:
            r.preparation = base
            return False
        files = r.engine.stat_cache
        tick = files.tick if files.in_tick else None
        if prepared.root is not r.plan or not unchanged(prepared.dependencies, tick):
            r.preparation = base  # the next one takes its place
            return False
        prepared.is_used = True
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
        deps = r.deps
        spec = self._key_specs.covering(
            r.headers_in, deps.address_lists, known, by_client=deps.on_client, by_query=depends_on_query(r)
        )
        if spec is None:
            return
        self._specs[base] = spec
        key = spec.request_key(base, r)
        size = sum([len(value) for value in key[2:] if isinstance(value, str | bytes)])
        if size > MAX_KEY:
            return
        if not self._seen.has_seen(hash(key)):
            return
        prepared = PreparedRequest(r, r.engine.plans.root(r.server))
        prepared.weight += HEADS * size
        if prepared.weight <= MAX_WEIGHT:
            self._level.put(self._entries, key, prepared)


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
