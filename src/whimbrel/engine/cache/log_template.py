"""Templates of access-log lines: the text that all uses of a cached response have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.engine.cache.raw_head import shown_line
from whimbrel.http.syntax.head_shape import LINE, OTHER, PLAIN_HOLES, TEXT, HeadShape, SplitHead, Values
from whimbrel.http.syntax.head_shape import Fill as FillPattern
from whimbrel.http.syntax.url import escape_logitem

# names of the holes for the client's address and the time
CLIENT: Final = TEXT
TIME: Final = OTHER

Fill = Callable[[Any], bytes]
RenderLine = Callable[[SplitHead, bytes, bytes], bytes]


class LogTemplate(NamedTuple):
    """A log line with holes.

    Attributes:
        fills: functions that render the texts between the holes for a request; one more than there are holes.
        holes: request fields by lower-case name, `LINE`, `CLIENT` or `TIME`.
    """

    fills: tuple[Fill, ...]
    holes: tuple[bytes, ...]


class FilledTemplate:
    """A template of one response: *pattern* is the line with ``%b`` in the place of each hole."""

    __slots__ = ("_fill", "_holes", "_is_plain", "_shape", "_values", "pattern")
    _fill: FillPattern
    _values: Values

    def __init__(self, template: LogTemplate, view: Any) -> None:
        texts = [fill(view).replace(b"%", b"%%") for fill in template.fills]
        self.pattern = b"%b".join(texts)
        self._holes = template.holes
        self._is_plain = PLAIN_HOLES.issuperset(template.holes)
        self._shape: HeadShape | None = None  # of the last head

    def line(self, head: SplitHead, client: bytes, time: bytes) -> bytes:
        """Return the line of a request with *head* by *client* at *time*."""
        raw, pieces, shape, is_printable = head
        if shape is not self._shape:
            self._shape = shape
            self._fill, self._values = shape.fill(self._holes)
        if is_printable and self._is_plain and raw[0]:
            return self._fill(self.pattern, pieces, client, time)
        values = self._values(pieces, client, time)
        if raw[0]:
            return self.pattern % tuple(map(_escaped, values))
        shown = [
            shown_line(text) if hole == LINE else text for hole, text in zip(self._holes, values, strict=True)
        ]
        return self.pattern % tuple(map(_escaped, shown))


def _escaped(text: bytes) -> bytes:
    return to_bytes(escape_logitem(to_text(text)))
