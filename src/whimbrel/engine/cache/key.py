"""Keys of the response cache: heads identified by request line and relevant fields, without parsing them.

A head matches an earlier one with the same request line and the same names and values of the relevant fields.
Where these stand is computed once for each shape of heads (http/syntax/head_shape.py).
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_text
from whimbrel.base.short_searches import LongSearch, ShortSearches
from whimbrel.http.syntax.head_shape import LINE_PIECES, MAX_COMPILED, BuildKey, HeadShape, SplitHead

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
MAX_KNOWN: Final = 2048
MAX_KNOWN_BYTES: Final = 128 * 1024  # lines whose predicates a KeySpec has evaluated
LINE_COST: Final = 128  # bytes of a cached line beyond its own
_WORD: Final = rb"[!-~\x80-\xff]++"
_FIELD_LINES: Final = rb"(?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+\r\n)*\r\n"
_FORM: Final = re.compile(
    rb"(?:%b %b HTTP/1\.[01]|\0[01](?: %b){4} HTTP/2\.0)\r\n%b" % (_WORD, _WORD, _WORD, _FIELD_LINES)
).fullmatch

Key = tuple[Any, ...]
Lists = tuple[Container[str], ...]  # address lists that the client was looked up in
Tests = tuple[
    tuple[str, tuple[Container[str], ...]], ...
]  # predicates on the values of fields, by lower-case name


def has_plain_form(raw: bytes) -> bool:
    """Return True if *raw* is a complete head that every parser delimits and splits alike, under all
    HttpProtocolOptions.

    Only such a head may be a key: a request line of three words and well-formed field lines, none folded, all
    ending in CR LF.
    """
    return _FORM(raw) is not None


class RawHead:
    """The bytes of one head; its fields are found without parsing."""

    __slots__ = ("_low", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._low = b""

    @property
    def line(self) -> str:
        """Return the request line as the access log shows it."""
        return to_text(shown_line(self.raw[: self.raw.index(b"\r\n")]))

    @property
    def url(self) -> None:
        """None: the target is in origin form without a fragment."""
        return None

    @property
    def headers(self) -> RawHead:
        """Return the fields."""
        return self

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value of a field; several values are joined."""
        low = self._low
        if not low:
            low = self.raw.lower()
            self._low = low
        start = b"\r\n%b:" % name.lower().encode("latin-1")
        at = low.find(start)
        values = []
        while at >= 0:
            at += len(start)
            values.append(self.raw[at : low.find(b"\r\n", at)].strip(b" \t"))
            at = low.find(start, at)
        # HTTP/2 splits cookies (RFC 9113, 8.2.3)
        joint = b"; " if start[2:-1] == b"cookie" and self.raw[:1] == b"\0" else b", "
        return to_text(joint.join(values)) if values else default


def shown_line(line: bytes) -> bytes:
    """Return the first line of a head as the access log shows it: HTTP/2 has more words."""
    if line[:1] != b"\0":
        return line
    _push, method, _scheme, target, _authority, protocol = line.split(b" ")
    return b"%b %b %b" % (method, target, protocol)


class KeySpec:
    """Key specification: what responses to some request lines depend on (compare RFC 9111, 4.1).

    Attributes:
        names: relevant fields in lower case; may include `BY_CLIENT` and `BY_QUERY`.
        lists: address lists whose membership of the client is relevant.
        tests: predicates on the values of fields that are not among *names*.
        number: unique number, part of every key.

    Results of predicates are cached for `MAX_KNOWN` lines and `MAX_KNOWN_BYTES`, and dropped together.
    """

    __slots__ = (
        "_class_bytes",
        "_classes",
        "_parts",
        "_tests",
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
        self._tests = {name.encode("latin-1"): sets for name, sets in tests if name not in names | ALWAYS}
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
        names = sorted(name.encode("latin-1") for name in self.names | ALWAYS)
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
        for number, (name, sets) in enumerate(self._tests.items()):
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

    def acl_bits(self, client: str) -> str:
        """In which of the lists a client is, a letter for each."""
        bits = self._parts.get(client)
        if bits is None:
            bits = "".join(["y" if client in addresses else "n" for addresses in self.lists])
            self._parts[client] = bits
        return bits

    def _classify(self, field: tuple[bytes, bytes], sets: tuple[Container[str], ...]) -> bytes:
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
