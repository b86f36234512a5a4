"""Key specifications: what the responses to some request lines depend on (compare RFC 9111, 4.1).

The response cache builds keys of heads that are not parsed: where the relevant fields stand is computed once
for each shape of heads (http/syntax/head_shape.py). The cache of prepared requests builds those of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.short_searches import LongSearch, ShortSearches
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.http.syntax.head_shape import LINE_PIECES, MAX_COMPILED, BuildKey, HeadShape, SplitHead

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

# In the place of a field name: the response is for one client's address, for one query.
BY_CLIENT: Final = "\x7fclient"
BY_QUERY: Final = "\x7fquery"
ALWAYS: Final = frozenset(
    (
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "expect",
        "upgrade",
        "http2-settings",
        "range",
        "request-range",
        # in HTTP/2 a request with one of these is malformed (RFC 9113, 8.2.2)
        "keep-alive",
        "proxy-connection",
        "te",
    )
)
MAX_SPECS: Final = 32  # different specifications of one cache
MAX_FIELDS: Final = 32  # fields that a response may depend on
# lists of addresses, and sets of values of one field; what depends on more depends on the value
MAX_LISTS: Final = 64
MAX_KNOWN: Final = 2048
MAX_KNOWN_BYTES: Final = 128 * 1024  # lines whose predicates a KeySpec has evaluated
LINE_COST: Final = 128  # bytes of a cached line beyond its own

Key = tuple[Any, ...]
Lists = tuple[Container[str], ...]  # address lists that the client was looked up in
Sets = tuple[Container[str], ...]
Tests = tuple[tuple[str, Sets], ...]  # predicates on the values of fields, by lower-case name


class KeySpec:
    """Key specification.

    Attributes:
        names: relevant fields in lower case; may include `BY_CLIENT` and `BY_QUERY`.
        lists: address lists whose membership of the client is relevant.
        tests: predicates on the values of fields that are not among *names*.
        number: unique number in its cache, part of every key.

    Results of predicates are cached for `MAX_KNOWN` lines and `MAX_KNOWN_BYTES`, and dropped together.
    """

    __slots__ = (
        "_class_bytes",
        "_classes",
        "_fields",
        "_parts",
        "by_client",
        "by_query",
        "lists",
        "names",
        "number",
        "tests",
    )

    def __init__(self, names: frozenset[str], lists: Lists = (), tests: Tests = (), number: int = 0) -> None:
        self.names = names
        self.lists = lists
        self.tests = tests
        self.number = number
        self._fields = sorted(names - {BY_CLIENT, BY_QUERY})
        self._classes: dict[tuple[bytes, bytes], bytes] = {}
        self._class_bytes = 0
        self._parts: BoundedDict[str, str] = BoundedDict(MAX_KNOWN)  # in which of the lists a client is
        self.by_client = BY_CLIENT in names
        self.by_query = BY_QUERY in names

    def build_key(self, head: SplitHead, line: bytes, client: str) -> Key:
        """Return the key of a head; *line* is its request line, without a query that is irrelevant.

        The key is empty, and no response has it, for a field that occurs twice and has predicates: these are
        evaluated on joined values.
        """
        _raw, pieces, shape, _is_printable = head
        return (shape.keys.get(self.number) or self.add_key(shape))(pieces, line, client)

    def add_key(self, shape: HeadShape) -> BuildKey:
        """Compile `build_key` for the heads of *shape*, and store it in its `keys`."""
        names = sorted(name.encode("latin-1") for name in ALWAYS.union(self._fields))
        places = [at for name in names for at in shape.positions.get(name, ())]
        present = b":".join([shape.names[at - LINE_PIECES] for at in places])
        if self.by_client:
            client = "client"
        elif self.lists:
            client = "bits(client)"
        else:
            client = "''"
        items = [str(self.number), "line", client, repr(present), *[f"pieces[{at}]" for at in places]]
        scope: dict[str, Any] = {"bits": self.acl_bits, "known": self._classes, "classify": self._classify}
        is_joined = False
        for number, (text, sets) in enumerate(self.tests):
            if text in ALWAYS:
                continue
            name = text.encode("latin-1")
            scope[f"sets_{number}"] = sets
            found = shape.positions.get(name, ())
            is_joined = is_joined or len(found) > 1
            items += [
                f"(known.get(field := ({name!r}, pieces[{at}])) or classify(field, sets_{number}))"
                for at in found
            ]
        source = "()" if is_joined else f"({', '.join(items)})"
        function: BuildKey = eval(f"lambda pieces, line, client: {source}", scope)
        if len(shape.keys) >= MAX_COMPILED:
            shape.keys.clear()
        shape.keys[self.number] = function
        return function

    def request_key(self, base: Key, r: Request) -> Key:
        """Return the key of a request: *base*, and all that is relevant besides."""
        entries = r.headers_in.entries()
        client = r.connection.client_ip
        values: list[str | bytes | None] = []
        for name in self._fields:
            entry = entries.get(name)
            values.append(None if entry is None else entry[1])
        for name, sets in self.tests:
            entry = entries.get(name)
            if entry is None:
                values.append(None)
            else:
                field = (name.encode("latin-1"), to_bytes(entry[1]))
                values.append(self._classes.get(field) or self._classify(field, sets))
        if not self.by_client:
            client = self.acl_bits(client) if self.lists else ""
        return (base, self.number, client, r.untracked_args if self.by_query else None, *values)

    def acl_bits(self, client: str) -> str:
        """In which of the lists a client is, a letter for each."""
        bits = self._parts.get(client)
        if bits is None:
            bits = "".join(["y" if client in addresses else "n" for addresses in self.lists])
            self._parts[client] = bits
        return bits

    def _classify(self, field: tuple[bytes, bytes], sets: Sets) -> bytes:
        """Return the results of the predicates on a field's value.

        A value on which a predicate would search for long stands for its own class.
        """
        name = field[0]
        value = to_text(field[1])
        try:
            with ShortSearches():
                result = name + b":" + b"".join([b"y" if value in values else b"n" for values in sets])
        except LongSearch:
            result = name + b"=" + field[1]
        cost = len(name) + len(value) + LINE_COST
        self._class_bytes += cost
        if len(self._classes) >= MAX_KNOWN or self._class_bytes > MAX_KNOWN_BYTES:
            self._classes.clear()
            self._class_bytes = cost
        self._classes[field] = result
        return result

    def covers(self, names: frozenset[str], lists: Lists, tests: Tests) -> bool:
        """Return True if this has all of these."""
        there = dict(self.tests) if tests else {}
        return (
            names <= self.names
            and (self.by_client or self.lists[: len(lists)] == lists)
            and all(name in self.names or set(sets) <= set(there.get(name, ())) for name, sets in tests)
        )


class KeySpecs:
    """The key specifications of one cache, an object for each.

    Bound: `MAX_SPECS`; then they are dropped together, and *on_drop* is called: it drops those that are known
    for request lines.
    """

    __slots__ = ("_count", "_on_drop", "_specs")

    def __init__(self, on_drop: Callable[[], None]) -> None:
        self._specs: dict[tuple[frozenset[str], Lists, Tests], KeySpec] = {}
        self._count = 0
        self._on_drop = on_drop

    def covering(
        self, fields: object, lists: Lists, known: KeySpec | None, *, by_client: bool, by_query: bool
    ) -> KeySpec | None:
        """Return a specification that covers a response, and *known*: that one if it does; None if the
        response depends on too many fields.

        *fields* are the request's, with the record of their reads; for the others see `KeySpec`.
        """
        if (
            not isinstance(fields, TrackedHeaders)
            or fields.all_fields_used
            or len(fields.accessed) + len(fields.tests) > MAX_FIELDS
        ):
            return None
        names = frozenset(fields.accessed).union(
            (BY_CLIENT,) if by_client else (), (BY_QUERY,) if by_query else ()
        )
        tests = tuple(fields.tests.items())
        if known is None:
            return self._get(names, lists, dict(tests))
        if known.covers(names, lists, tests):
            return known
        merged = dict(known.tests)
        for name, sets in tests:
            merged[name] = tuple(dict.fromkeys((*merged.get(name, ()), *sets)))
        together = tuple(dict.fromkeys(known.lists + lists))
        # beyond the bound the others may belong to settings that were replaced
        return self._get(names | known.names, lists if len(together) > MAX_LISTS else together, merged)

    def _get(self, names: frozenset[str], lists: Lists, tests: dict[str, Sets]) -> KeySpec:
        """Return the one specification of these."""
        if BY_CLIENT in names or len(lists) > MAX_LISTS:
            names |= {BY_CLIENT}
            lists = ()
        names |= {name for name, sets in tests.items() if len(sets) > MAX_LISTS}
        others = tuple(sorted((item for item in tests.items() if item[0] not in names), key=_name))
        spec = self._specs.get((names, lists, others))
        if spec is None:
            if len(self._specs) >= MAX_SPECS:
                self._specs.clear()
                self._on_drop()
            self._count += 1
            spec = KeySpec(names, lists, others, self._count)
            self._specs[names, lists, others] = spec
        return spec


def _name(item: tuple[str, Sets]) -> str:
    return item[0]
