"""Parser of documents: text and elements in order, independent of any request.

An element is start tag, name, arguments, end tag. Arguments are ``name=value``; the value is in double,
single or backward quotes, or extends to the next blank. Manual: mod/mod_include.html#basic-elements.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass

BLANK: Final = frozenset(" \t\n\v\f\r")
QUOTES: Final = frozenset("\"'`")


class ElementFault(Enum):
    """Syntax faults that prevent the execution of an element."""

    NO_NAME = "AH01368"  # no directive name
    QUOTE = "AH01369"  # a quoted text in place of an argument's name
    EQUALS = "AH01370"  # an equals sign in its place
    UNFINISHED = "AH01372"  # the document ended within it


@dataclass(frozen=True, slots=True)
class Element:
    """One element.

    Names are in lower case, the value of an argument without one is None, backslashes before quotes are
    removed. *faults* are in source order; an element with faults is not executed.
    """

    name: str
    arguments: tuple[tuple[str, str | None], ...]
    faults: tuple[ElementFault, ...] = ()


Piece = bytes | Element


class ElementReader:
    """Parser of one element in *text* from *at* on; `at` is then the position after its end tag."""

    def __init__(self, text: str, at: int, end: str) -> None:
        self.text = text
        self.at = at
        self.end = end
        self.name = ""
        self.arguments: list[tuple[str, str | None]] = []
        self.faults: list[ElementFault] = []

    def element(self) -> Element:
        """Parse the element."""
        if not self._read():
            self.faults.append(ElementFault.UNFINISHED)
            self.at = len(self.text)
        return Element(self.name, tuple(self.arguments), tuple(self.faults))

    def _read(self) -> bool:
        """Read name and arguments; return False if the text ends first."""
        ended = self._directive()
        while ended is None:
            ended = self._argument()
        return ended

    def _directive(self) -> bool | None:
        text = self.text
        at = self.at
        while at < len(text) and text[at] not in BLANK and not text.startswith(self.end, at):
            at += 1
        self.name, self.at = text[self.at : at].lower(), at
        if at >= len(text):
            return False
        if not self.name:
            self.faults.append(ElementFault.NO_NAME)
        return None

    def _blanks(self) -> bool:
        """Skip blanks; return False at the end of the text."""
        text = self.text
        at = self.at
        while at < len(text) and text[at] in BLANK:
            at += 1
        self.at = at
        return at < len(text)

    def _argument(self) -> bool | None:
        """Read one argument or the end tag: None to continue, else True if the element is complete."""
        if not self._blanks():
            return False
        text = self.text
        if text.startswith(self.end, self.at):
            self.at += len(self.end)
            return True
        first = text[self.at]
        if first in QUOTES or first == "=":
            self.faults.append(ElementFault.EQUALS if first == "=" else ElementFault.QUOTE)
            if first == "=":
                self.at += 1
            return None if self._value() is not None else False
        return self._named()

    def _named(self) -> bool | None:
        text = self.text
        start = self.at
        at = start
        while at < len(text) and text[at] not in BLANK and text[at] != "=":
            at += 1
        name = text[start:at].lower()
        self.at = at
        if not self._blanks():
            return False
        if text[self.at] != "=":
            self.arguments.append((name, None))
            return None
        self.at += 1
        value = self._value()
        if value is None:
            return False
        self.arguments.append((name, value))
        return None

    def _value(self) -> str | None:
        """Read a value; return None if the text ends first."""
        if not self._blanks():
            return None
        text = self.text
        quote = self.text[self.at]
        if quote in QUOTES:
            return self._quoted(quote)
        at = self.at
        while at < len(text) and text[at] not in BLANK:
            at += 1
        value, self.at = text[self.at : at], at
        return value if at < len(text) else None

    def _quoted(self, quote: str) -> str | None:
        text = self.text
        at = self.at + 1
        out = []
        while True:
            end = text.find(quote, at)
            if end < 0:
                return None
            if text[end - 1] != "\\" or end == self.at + 1:
                break
            out.append(text[at : end - 1] + quote)
            at = end + 1
        out.append(text[at:end])
        self.at = end + 1
        return "".join(out)


def pieces(data: bytes, start: str, end: str) -> tuple[Piece, ...]:
    """Split *data* into text and elements between the tags *start* and *end*."""
    return beginning(data, start, end, last=True)[0]


def beginning(data: bytes, start: str, end: str, *, last: bool) -> tuple[tuple[Piece, ...], bytes]:
    """Split *data* as `pieces` does; also return the rest that needs more data.

    The rest is a part of a start tag or an unfinished element; it is empty for the *last* data.
    """
    tag = start.encode("latin-1")
    out = list[Piece]()
    at = 0
    text = ""
    while (position := data.find(tag, at)) >= 0:
        if position > at:
            out.append(data[at:position])
        text = text or data.decode("latin-1")
        reader = ElementReader(text, position + len(tag), end)
        element = reader.element()
        if not last and ElementFault.UNFINISHED in element.faults:
            return tuple(out), data[position:]
        out.append(element)
        at = reader.at
    stop = len(data) if last else max(at, len(data) - _partial(data[at:], tag))
    if at < stop:
        out.append(data[at:stop])
    return tuple(out), data[stop:]


def _partial(data: bytes, tag: bytes) -> int:
    """Return the number of bytes at the end of *data* that may begin a *tag*."""
    return next(
        (count for count in range(min(len(tag) - 1, len(data)), 0, -1) if data.endswith(tag[:count])), 0
    )
