"""Keys of the response cache: heads identified by request line and relevant field lines, without parsing
them.

A head whose other lines are well-formed matches an earlier one with the same request line and the same
relevant lines in the same order. The role of a line is computed once for each set of fields, because clients
repeat most lines with every request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_bytes as octets
from whimbrel.base.latin1 import to_text
from whimbrel.engine.log.error_log_line import REQUEST_LINE
from whimbrel.http.syntax.url import escape_logitem

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
MAX_KNOWN_BYTES: Final = 128 * 1024  # lines in each of the two caches of a KeySpec
LINE_COST: Final = 128  # bytes of a cached line beyond its own
# Bound of the cache of escaped field lines; lines beyond MAX_ESCAPED_LINE bytes are not cached.
MAX_ESCAPED: Final = 1024
MAX_ESCAPED_LINE: Final = 512
_AS_IT_IS: Final = re.compile(rb"[ !#-\[\]-~]*").fullmatch
END: Final = [b"", b""]  # the last lines of a head
KEY: Final = 1  # what a line is worth: it decides about the response
LOGGED: Final = 2  # role of a line that an access log shows
PREDICATE: Final = 4  # role of a line whose predicates are part of the key
_LINE: Final = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):[\t -~\x80-\xff]*")
_QUERY: Final = re.compile(rb"[!\"$-~\x80-\xff]*").fullmatch
# A request line with a query: of HTTP/1, and of HTTP/2 (see http2/protocol.py).
_QUERIED: Final = re.compile(
    rb"((?:\0[01] )?[A-Z]+ (?:https? )?/[^?# ]*)\?[!\"$-~\x80-\xff]*( [^?]*)"
).fullmatch
_VALUE: Final = re.compile(rb"[\t -~\x80-\xff]*").fullmatch
_WORD: Final = rb"[!-~\x80-\xff]++"
_FIELD_LINES: Final = rb"(?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+\r\n)*+\r\n"
_FORM: Final = re.compile(
    rb"(?:%b %b HTTP/1\.[01]|\0[01](?: %b){4} HTTP/2\.0)\r\n%b" % (_WORD, _WORD, _WORD, _FIELD_LINES)
).fullmatch

Key = tuple[bytes | str | int, ...]
Lists = tuple[Container[str], ...]  # address lists that the client was looked up in
Tests = tuple[
    tuple[str, tuple[Container[str], ...]], ...
]  # predicates on the values of fields, by lower-case name
LoggedLines = tuple[bytes, ...]
Fill = Callable[[Any], bytes]
LogTemplate = tuple[tuple[Fill, ...], tuple[bytes, ...]]
"""Template of an access-log line: functions for the texts between its holes (one more than there are holes),
and the holes: a request field by its lower-case name, b"" for the request line.
"""
EscapedCache = BoundedDict[bytes, tuple[bytes, bytes]]


def has_plain_form(raw: bytes) -> bool:
    """Return True if *raw* is a complete head that every parser delimits and splits alike, under all
    HttpProtocolOptions.

    Only such a head may be a key: a request line of three words and well-formed field lines, none folded, all
    ending in CR LF.
    """
    return _FORM(raw) is not None


class RawHead:
    """The bytes of one head, and the fields of it that logs read.

    *logged* are the field lines that the access log shows, as `KeySpec.build_key` returned them.
    """

    __slots__ = ("_low", "logged", "raw")

    def __init__(self, raw: bytes, logged: LoggedLines = ()) -> None:
        self.raw, self.logged = raw, logged
        self._low = b""

    @property
    def line(self) -> str:
        """Return the request line as the access log shows it."""
        line = to_text(self.raw[: self.raw.index(b"\r\n")])
        if line[0] != "\0":
            return line
        _push, method, _scheme, target, _authority, protocol = line.split(" ")
        return f"{method} {target} {protocol}"

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
            low = self._low = self.raw.lower()
        start = b"\r\n%b:" % name.lower().encode("latin-1")
        at = low.find(start)
        values = []
        while at >= 0:
            at += len(start)
            values.append(self.raw[at : low.find(b"\r\n", at)].strip(b" \t"))
            at = low.find(start, at)
        return to_text(_joint(low, start[2:-1]).join(values)) if values else default


class HeadPattern:
    """A head with one free value that no decision depends on: every head that matches has the key *key*.

    The free value is the query or a field that no log shows. *start* are the bytes before it, *rest* those
    after it. *logged* are the lines for the access logs; if *queried* is set, the request line goes before
    them.
    """

    __slots__ = ("_good", "at", "behind", "key", "most", "queried", "rest", "start", "logged")

    def __init__(self, raw: bytes, line: bytes, key: Key, logged: LoggedLines, most: int) -> None:
        """*line* stands in the head *raw*, whose like have at most *most* bytes; b"": it is the query that
        may differ.
        """
        if line:
            begin = raw.index(b"\r\n%b\r\n" % line) + 2
            self.start, self.rest, self._good = (
                raw[: begin + line.index(b":") + 1],
                raw[begin + len(line) :],
                _VALUE,
            )
        else:
            mark = raw.index(b"?") + 1
            self.start, self.rest, self._good = raw[:mark], raw[raw.index(b" ", mark) :], _QUERY
        self.at, self.behind, self.most = len(self.start), len(self.rest), most
        self.queried = not line and logged[:1] == (raw[: raw.index(b"\r\n")],)
        self.key, self.logged = key, logged[1:] if self.queried else logged

    def matches(self, raw: bytes) -> bool:
        """Return True if *raw* matches the pattern."""
        end = len(raw) - self.behind
        return (
            self.at <= end
            and raw.startswith(self.start)
            and raw.endswith(self.rest)
            and end + self.behind <= self.most
            and self._good(raw, self.at, end) is not None
        )


def without_query(line: bytes) -> bytes:
    """Return a request line without its query; unchanged if it has none, or cannot be a key."""
    match = _QUERIED(line) if b"?" in line else None
    return line if match is None else match[1] + match[2]


def render_template(outline: LogTemplate, view: Any) -> bytes:
    """Return a line whose holes are to be filled with `values_of` a request, by the operator ``%``."""
    fills, holes = outline
    texts = [fill(view).replace(b"%", b"%%") for fill in fills]
    return texts[0] + b"".join([b"%%(%b)b%b" % pair for pair in zip(holes, texts[1:], strict=True)])


def template_values(
    head: bytes, logged: LoggedLines, shown: EscapedCache, missing: dict[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return the values for the holes of a log template.

    *logged* are the lines of the head that logs show, *shown* is the cache of escaped lines, *missing* holds
    the values of absent fields.
    """
    line, values = head[: head.index(b"\r\n")], missing.copy()
    values[b""] = line if _AS_IT_IS(line) is not None else octets(escape_logitem(RawHead(head).line))
    there = set()
    for one in logged:
        if one == line:
            continue
        found = shown.get(one)
        if found is None:
            found = _shown(one, shown)
        low, value = found
        values[low] = values[low] + _joint(head, low) + value if low in there else value
        there.add(low)
    return values


def _joint(head: bytes, name: bytes) -> bytes:
    """Return the separator between values of a repeated field: HTTP/2 splits cookies (RFC 9113, 8.2.3)."""
    return b"; " if name == b"cookie" and head[:1] == b"\0" else b", "


def _shown(line: bytes, shown: EscapedCache) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    entry = name.lower(), octets(escape_logitem(to_text(value.strip(b" \t"))))
    if len(line) <= MAX_ESCAPED_LINE:
        shown[line] = entry
    return entry


class KeySpec:
    """Key specification: what responses to some request lines depend on (compare RFC 9111, 4.1).

    Attributes:
        names: relevant fields in lower case; may include `BY_CLIENT` and `BY_QUERY`.
        logged: fields in access logs; may include `REQUEST_LINE`.
        lists: address lists whose membership of the client is relevant.
        tests: predicates on the values of fields that are not among *names*.
        number: unique number, part of every key.
        latest: an irrelevant line that `build_key` met for the first time, else b"".

    Roles of lines are cached: relevant and irrelevant lines up to `MAX_KNOWN` each and `MAX_KNOWN_BYTES`
    each; on overflow all lines of the kind are dropped.
    """

    __slots__ = (
        "_classes",
        "_irrelevant",
        "_idle_bytes",
        "_known",
        "_known_bytes",
        "_parts",
        "_tests",
        "_logged",
        "_key_fields",
        "by_client",
        "by_query",
        "latest",
        "is_line_logged",
        "lists",
        "names",
        "number",
        "tests",
        "logged",
    )

    def __init__(
        self,
        names: frozenset[str],
        logged: frozenset[str] = frozenset(),
        lists: Lists = (),
        tests: Tests = (),
        number: int = 0,
    ) -> None:
        self.names, self.logged, self.lists, self.tests, self.number = names, logged, lists, tests, number
        self._tests = {name.encode("latin-1"): sets for name, sets in tests if name not in names}
        self._classes: dict[bytes, bytes] = {}  # results of predicates by line
        self._parts: BoundedDict[str, str] = BoundedDict(MAX_KNOWN)  # in which of the lists a client is
        self.by_client, self.by_query = BY_CLIENT in names, BY_QUERY in names
        self.is_line_logged = REQUEST_LINE in logged and not self.by_query
        self._key_fields = frozenset(name.encode("latin-1") for name in names | ALWAYS)
        self._logged = frozenset(name.encode("latin-1") for name in logged)
        self._irrelevant: set[bytes] = set()  # irrelevant well-formed lines: most of those that clients send
        self._known: dict[bytes, int] = {}  # what the others are worth
        self._idle_bytes = self._known_bytes = 0
        self.latest = b""

    @property
    def tested(self) -> Collection[bytes]:
        """Return the names of the fields of which only tests matter."""
        return self._tests.keys()

    def build_key(self, lines: list[bytes], bare: bytes, client: str) -> tuple[Key, LoggedLines] | None:
        """Return the key of the head with these *lines*, and its lines for access logs.

        *bare* is the first line `without_query`. The result is None unless the lines are one complete head
        with well-formed fields: the last two lines are empty, and no other is.
        """
        known, idle, key, self.latest = self._known, self._irrelevant, [], b""
        logged = [lines[0]] if self.is_line_logged else []
        rest = [line for line in lines if line not in idle]
        if rest[-2:] != END:
            return None
        for line in rest[1:-2]:
            role = known.get(line)
            if role is None:
                role = self._classify(line)
                if role is None:
                    return None
            if role & KEY:
                key.append(line)
            elif role & PREDICATE:
                key.append(self._classes[line])
            if role & LOGGED:
                logged.append(line)
        if not self.by_client:
            client = self.acl_bits(client) if self.lists else ""
        return (self.number, lines[0] if self.by_query else bare, client, *key), tuple(logged)

    def acl_bits(self, client: str) -> str:
        """In which of the lists a client is, a letter for each."""
        bits = self._parts.get(client)
        if bits is None:
            bits = self._parts[client] = "".join(
                ["y" if client in addresses else "n" for addresses in self.lists]
            )
        return bits

    def _classify(self, line: bytes) -> int | None:
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        name = match[1].lower()
        role = (KEY if name in self._key_fields else 0) | (LOGGED if name in self._logged else 0)
        if not role & KEY and name in self._tests:
            role |= PREDICATE
            value = to_text(line[len(name) + 1 :].strip(b" \t"))
            self._classes[line] = (
                name + b":" + b"".join([b"y" if value in values else b"n" for values in self._tests[name]])
            )
        cost = len(line) + LINE_COST
        if role:
            self._known_bytes += cost
            if len(self._known) >= MAX_KNOWN or self._known_bytes > MAX_KNOWN_BYTES:
                self._known.clear()
                self._known_bytes = cost
                self._classes = {line: self._classes[line]} if role & PREDICATE else {}
            self._known[line] = role
        else:
            self._idle_bytes += cost
            # These come in floods, as every cookie is one.
            if len(self._irrelevant) >= MAX_KNOWN or self._idle_bytes > MAX_KNOWN_BYTES:
                self._irrelevant.clear()
                self._idle_bytes = cost
            self._irrelevant.add(line)
            self.latest = line
        return role
