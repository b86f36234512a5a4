"""Shapes of request heads: a head is split without being parsed.

Clients send the same field names in the same order with every request. A `HeadShape` is one such sequence: a
pattern that matches the heads with these names and no others, and what code needs to know about the names,
such as the positions of some fields. Both are computed once for each shape. RFC 9112, 2 to 5; the form of
HTTP/2 heads is that of http/http2/protocol.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

MAX_SHAPES: Final = 128
MAX_RECENT: Final = 4
MAX_NAMES: Final = 640  # bytes of the names of a shape
MAX_FIELDS: Final = 48  # field lines of a shape: compiling their patterns takes 4 milliseconds
MAX_COMPILED: Final = 16  # functions of each kind that a shape stores, each for a set of fields
# Compiling the patterns of a shape takes as long as some requests without a shape. So it costs credits, and
# each head that has to be looked for in the table brings one: clients with invented names can double the time
# of their requests, and no more.
COMPILE_COST: Final = 24
NAME_COST: Final = 2
MAX_CREDITS: Final = MAX_SHAPES * (COMPILE_COST + 16 * NAME_COST)
_TOKEN: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+").fullmatch
field_names: Final = re.compile(rb"\r\n([^:\r\n]*)").findall
# Request lines with a target in origin form, in three groups: up to the query, the query with its mark, the
# rest. The line of HTTP/2 has more words (http/http2/protocol.py).
_LINE: Final = rb"([A-Z]++ /[%b]*+)(\?[%b?]*+)?( HTTP/1\.[01])"
_LINE_2: Final = rb"(\0[01] [A-Z]++ https? /[%b]*+)(\?[%b?]*+)?( [!-~]++ HTTP/2\.0)"
# bytes of a path, and with the question mark those of a query: those that logs show unescaped, or all
_PLAIN_PATH: Final = rb"!$->@-\[\]-~"
_ANY_PATH: Final = rb"!\"$->@-~\x80-\xff"
PLAIN_LINE: Final = _LINE % (_PLAIN_PATH, _PLAIN_PATH)  # pattern of a line that logs show unescaped
_PLAIN_VALUE: Final = rb"[ \t]*+([ !#-\[\]-~]*+)(?<![ \t])"
_ANY_VALUE: Final = rb"[ \t]*+([\t -~\x80-\xff]*+)(?<![ \t])"
_PADDED_VALUE: Final = rb"[ \t]*+([!-~\x80-\xff]*+(?:[ \t]++[!-~\x80-\xff]++)*)[ \t]*+"
# fields that logs often show
_SHOWN: Final = frozenset((b"referer", b"user-agent"))
LINE_PIECES: Final = 3
# Names in the place of a field's: the request line; two texts that are not part of the head.
LINE: Final = b""
TEXT: Final = b"\x7ftext"
OTHER: Final = b"\x7fother"
PLAIN_HOLES: Final = _SHOWN | {LINE, TEXT, OTHER}
"""The texts that logs show unescaped in a `SplitHead` that is marked."""

Pieces = Sequence[Any]  # of bytes; the query may be None
BuildKey = Callable[[Pieces, bytes, str], "tuple[Any, ...]"]
Values = Callable[[Pieces, bytes, bytes], tuple[bytes, ...]]
Fill = Callable[[bytes, Pieces, bytes, bytes], bytes]
Match = Callable[[bytes], "re.Match[bytes] | None"]


class HeadShape:
    """One sequence of field names, of HTTP/1 or of HTTP/2.

    Attributes:
        names: the names as they were sent.
        count: the number of field lines that the client sent; one line of HTTP/2 stands for the head.
        match_plain: matches the heads of this shape whose line, Referer and User-Agent logs show unescaped.
        match: matches all heads of this shape; its groups are the pieces of `SplitHead`.
        positions: the pieces of each field, by its name in lower case.
        keys: functions that build keys of the response cache, by the number of the `KeySpec`.
        number: unique number.
    """

    __slots__ = (
        "_fills",
        "_is_http2",
        "count",
        "keys",
        "match",
        "match_plain",
        "names",
        "number",
        "positions",
    )

    def __init__(self, names: Sequence[bytes], number: int, *, is_http2: bool = False) -> None:
        self.names = tuple(names)
        self.number = number
        self._is_http2 = is_http2
        self.count = len(self.names) - is_http2
        self.positions: dict[bytes, tuple[int, ...]] = {}
        for position, name in enumerate(names, LINE_PIECES):
            low = name.lower()
            self.positions[low] = (*self.positions.get(low, ()), position)
        plain = [_PLAIN_VALUE if name.lower() in _SHOWN else _ANY_VALUE for name in names]
        self.match_plain = self._pattern(_PLAIN_PATH, plain)
        self.match = self._pattern(_ANY_PATH, [_PADDED_VALUE] * len(names))
        self.keys: dict[int, BuildKey] = {}
        self._fills: dict[tuple[bytes, ...], tuple[Fill, Values]] = {}

    def _pattern(self, path: bytes, values: Sequence[bytes]) -> Match:
        line = (_LINE_2 if self._is_http2 else _LINE) % (path, path)
        fields = [
            b"%b:%b\r\n" % (re.escape(name), value) for name, value in zip(self.names, values, strict=True)
        ]
        return re.compile(line + b"\r\n" + b"".join(fields) + b"\r\n").fullmatch

    def fill(self, names: tuple[bytes, ...]) -> tuple[Fill, Values]:
        """Return functions of the pieces of a head and of two texts: one that fills the values of the fields
        *names* into a pattern with as many ``%b``, its first argument; and one that returns the values.

        The values of several lines are joined, an absent field is ``-``. `LINE` in the place of a name stands
        for the request line, `TEXT` and `OTHER` for the texts.
        """
        found = self._fills.get(names)
        if found is None:
            if len(self._fills) >= MAX_COMPILED:
                self._fills.clear()
            values = f"({''.join([f'{self._source(name)}, ' for name in names])})"
            scope = {"joined": self._joined}
            found = (
                eval(f"lambda pattern, pieces, text, other: pattern % {values}", scope),
                eval(f"lambda pieces, text, other: {values}", scope),
            )
            self._fills[names] = found
        return found

    def _source(self, name: bytes) -> str:
        """Return an expression for the value of a field."""
        if name == LINE:
            return "(pieces[0] + (pieces[1] or b'') + pieces[2])"
        if name == TEXT:
            return "text"
        if name == OTHER:
            return "other"
        places = self.positions.get(name, ())
        if len(places) > 1:
            return f"joined(pieces, {places})"
        return f"pieces[{places[0]}]" if places else repr(b"-")

    def _joined(self, pieces: Pieces, places: tuple[int, ...]) -> bytes:
        """Return the values of a repeated field; HTTP/2 splits cookies (RFC 9113, 8.2.3)."""
        is_cookie = self._is_http2 and self.names[places[0] - LINE_PIECES].lower() == b"cookie"
        return (b"; " if is_cookie else b", ").join([pieces[at] for at in places])


# A complete, well-formed head with a target in origin form: its bytes, pieces and shape. The pieces are the
# request line up to the query, the query with its mark or None, the rest of the line, and the values of the
# fields without the blanks around them. Last comes True if logs show `PLAIN_HOLES` of it unescaped. It is a
# bare tuple, because each request makes one.
SplitHead = tuple[bytes, Pieces, HeadShape, bool]

# The shape of heads that are not split: those of no pattern.
NO_SHAPE: Final = HeadShape((), 0)


def line_of(pieces: Pieces) -> bytes:
    """Return the request line."""
    return b"%b%b%b" % (pieces[0], pieces[1] or b"", pieces[2])


class HeadShapes:
    """Cache of shapes. Key: version and names, or the number; at most `MAX_SHAPES`.

    The shape that was looked for by its names longest ago is dropped, so invented names drop no shape of
    other clients. The last `MAX_RECENT` are tried first: that costs less than to find the names.
    """

    __slots__ = ("_count", "_credits", "_recent", "_shapes", "by_number")

    def __init__(self) -> None:
        self._shapes: dict[bytes, HeadShape] = {}
        self.by_number: dict[int, HeadShape] = {}
        self._recent: tuple[HeadShape, ...] = ()
        self._count = 0
        self._credits = MAX_CREDITS

    def split(self, raw: bytes) -> SplitHead | None:
        """Return the pieces of *raw*; None unless it is one complete head, every parser of which finds the
        same lines, with a target in origin form, and its shape is known or may be compiled.
        """
        for recent in self._recent:
            match = recent.match_plain(raw)
            if match is not None:
                return raw, match.groups(), recent, True
        shape = self._find(raw)
        if shape is None:
            return None
        self._recent = (shape, *[each for each in self._recent if each is not shape][: MAX_RECENT - 1])
        match = shape.match_plain(raw)
        if match is not None:
            return raw, match.groups(), shape, True
        match = shape.match(raw)
        return None if match is None else (raw, match.groups(), shape, False)

    def _find(self, raw: bytes) -> HeadShape | None:
        names = field_names(raw)[:-2]
        is_http2 = raw[:1] == b"\0"
        key = b":".join((b"2" if is_http2 else b"1", *names))
        shape = self._shapes.get(key)
        self._credits = min(self._credits + 1, MAX_CREDITS)
        if shape is not None:
            self._shapes[key] = self._shapes.pop(key)
            return shape
        cost = COMPILE_COST + NAME_COST * len(names)
        if len(key) > MAX_NAMES or len(names) > MAX_FIELDS or self._credits < cost:
            return None
        if not all(map(_TOKEN, names)):
            return None
        self._credits -= cost
        self._count += 1
        if len(self._shapes) >= MAX_SHAPES:
            dropped = self._shapes.pop(next(iter(self._shapes)))
            del self.by_number[dropped.number]
            self._recent = tuple([each for each in self._recent if each is not dropped])
        shape = HeadShape(names, self._count, is_http2=is_http2)
        self._shapes[key] = shape
        self.by_number[self._count] = shape
        return shape
