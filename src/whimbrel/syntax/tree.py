"""The lossless tree of a configuration file.

It knows lines, sections and comments, but no directive: arguments stay one text, since quoting depends on the
directive.  Every byte belongs to exactly one piece, the pieces follow each other without gaps, and no input
raises: what httpd couldn't read is `Broken`.

Where httpd would stop at a closing tag of the wrong name, the tree goes on: the tag closes the nearest
section of that name, and the sections in between stay unclosed. A file ends where sections are nested more
than MAX_SECTIONS deep.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.latin1 import to_text as as_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.syntax.lines import MAX_SECTIONS, TOO_DEEP, V24_LINES, LineRules, scan, split_name


@dataclass(slots=True, eq=False)
class Piece:
    """Bytes *start* to *end* of the source, line ends included; *number* is the line that httpd names."""

    start: int
    end: int
    number: int


@dataclass(slots=True, eq=False)
class Blank(Piece):
    """A line of white space."""


@dataclass(slots=True, eq=False)
class Comment(Piece):
    """A line whose first visible character is ``#``, with the lines that backslashes join to it."""


@dataclass(slots=True, eq=False)
class Malformed(Piece):
    """Text that is no directive and no section: a stray closing tag, a tag without ``>``, a line that the end
    of the file cuts off.
    """

    reason: str


@dataclass(slots=True, eq=False)
class Directive(Piece):
    """*name* as written (quotes removed); *args* is the rest of the line, unsplit, ``${...}`` not
    expanded.
    """

    name: str
    args: str


@dataclass(slots=True, eq=False)
class Close(Piece):
    """The closing tag of a section; *name* as written."""

    name: str


@dataclass(slots=True, eq=False)
class Section(Piece):
    """A container, from its opening line to its closing tag; *number* is that of the opening line, *body* the
    end of that line.

    *name* as written, without ``<``; *args* as httpd passes them, with ``>`` and what follows it. *close* is
    None if the section is not closed.
    """

    name: str
    args: str
    body: int
    children: list[Node] = field(default_factory=list, repr=False)
    close: Close | None = None


Node = Blank | Comment | Directive | Section | Malformed
Bytes = bytes  # `Document.bytes` hides the built-in name


@dataclass(slots=True, eq=False)
class Document:
    """A parsed file: *bytes* as they came, and the nodes outside of any section."""

    bytes: Bytes = field(repr=False)
    children: list[Node] = field(repr=False)
    rules: LineRules

    def source(self, piece: Piece) -> Bytes:
        """Return the bytes of a node, its children included."""
        return self.bytes[piece.start : piece.end]

    def walk(self) -> Iterator[Node]:
        """Every node in the order of the source, a section before its children."""
        return walk(self.children)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Return the byte ranges of all logical lines in order; joined, they are the source."""
        waiting: list[Node | Close] = [*reversed(self.children)]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Section):
                yield node.start, node.body
                waiting += [node.close] if node.close else []
                waiting += reversed(node.children)
            else:
                yield node.start, node.end


def walk(nodes: list[Node]) -> Iterator[Node]:
    """*nodes* and everything inside them, in the order of the source, without recursion."""
    waiting = nodes[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Section):
            waiting += reversed(node.children)


def parse(data: bytes, rules: LineRules = V24_LINES) -> Document:
    """Return the tree of one file.  Included files are not followed."""
    with _uncollected():
        return _parse(data, rules)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold the cyclic garbage collector back: a tree has no cycles, and going over its growing mass again and
    again doubles the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _parse(data: bytes, rules: LineRules) -> Document:
    builder = _Builder()
    names: dict[str, str] = {}
    end = 0
    number = 0
    for start, end, number, text in scan(as_text(data), rules):
        if not text:
            builder.add(Blank(start, end, number))
        elif text[0] == "#":
            builder.add(Comment(start, end, number))
        else:
            name, args = split_name(text)
            name = names.setdefault(name, name)
            if name[:1] == "<" and builder.is_full and name[1:2] != "/":
                end = len(data)
                builder.add(Malformed(start, end, number, TOO_DEEP))
                break
            if name[:1] == "<":
                builder.tag(start, end, number, name, args)
            elif name:
                builder.add(Directive(start, end, number, name, args))
            else:
                builder.add(Malformed(start, end, number, "the first word is empty"))
    if end < len(data):
        builder.add(
            Malformed(end, len(data), number + 1, "the file ends after a backslash that joins the next line")
        )
    return Document(data, builder.finish(len(data)), rules)


def _folded(name: str) -> bytes:
    """Return the key under which names agree: only the letters of ASCII have a case."""
    return to_bytes(name).lower()


class _Builder:
    """The open sections while a file is read; *add* appends to the innermost one."""

    def __init__(self) -> None:
        self.children: list[Node] = []
        self.open: list[Section] = []
        self.names: Counter[bytes] = Counter()
        self.add = self.children.append

    @property
    def is_full(self) -> bool:
        """Return True if no section may be opened in the innermost one."""
        return len(self.open) >= MAX_SECTIONS

    def tag(self, start: int, end: int, number: int, name: str, args: str) -> None:
        if name[:2] != "</":
            self.enter(Section(start, end, number, name[1:], args, end))
        elif name[-1] != ">":
            self.add(Malformed(start, end, number, "a closing tag without '>'"))
        elif not self.names[_folded(name[2:-1])]:
            self.add(Malformed(start, end, number, "a closing tag without its section"))
        else:
            self.leave(Close(start, end, number, name[2:-1]))

    def enter(self, section: Section) -> None:
        self.add(section)
        self.open.append(section)
        self.names[_folded(section.name)] += 1
        self.add = section.children.append

    def leave(self, close: Close) -> None:
        """Close the innermost section of that name; sections inside it end where the tag begins."""
        wanted = _folded(close.name)
        while True:
            section = self.open.pop()
            name = _folded(section.name)
            self.names[name] -= 1
            if name == wanted:
                break
            section.end = close.start
        section.end = close.end
        section.close = close
        self.add = self.open[-1].children.append if self.open else self.children.append

    def finish(self, end: int) -> list[Node]:
        for section in self.open:
            section.end = end
        return self.children
