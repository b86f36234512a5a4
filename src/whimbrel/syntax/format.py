"""Formatting of configuration files: indentation, case of names, blank lines; the meaning is unchanged.

Only white space before and after a line, blank lines and the case of names change. Lines joined by
backslashes, sections in other languages (<Perl>, <LuaHook...>) and text that is no configuration stay byte
for byte.  `formatted` parses its result under the rules of both versions and raises if the meaning differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.latin1 import to_text as as_text
from whimbrel.syntax.lines import V22_LINES, V24_LINES, LineRules, scan, split_name
from whimbrel.syntax.spans import name_range
from whimbrel.syntax.tree import Blank, Close, Comment, Directive, Document, Malformed, Node, Section, parse
from whimbrel.syntax.words import WHITE

Spelling = Callable[[str], "str | None"]
"""The usual spelling of a directive's name (containers with ``<``), None for one that is not known."""

FOREIGN = ("perl", "lua")
TEXTUAL = ("macro",)  # names in there may be a macro's parameters


class NotTheSame(Exception):
    """Formatting would change the meaning of the file; it must stay as it is."""


def formatted(data: bytes, spelling: Spelling, *, indent: int = 4) -> bytes:
    """*data* formatted, each level *indent* blanks further in; raises NotTheSame."""
    out = b"".join(_Formatter(parse(data), spelling, indent).lines())
    if not data.strip():
        return out if _same(data, out) else data
    if not _same(data, out):
        raise NotTheSame
    return out


def _same(before: bytes, after: bytes) -> bool:
    return all(
        list(_directives(before, rules)) == list(_directives(after, rules))
        for rules in (V22_LINES, V24_LINES)
    )


def _directives(data: bytes, rules: LineRules) -> Iterator[tuple[str, str]]:
    """Return the names, in lower case, and arguments of the lines that count."""
    for _start, _end, _number, text in scan(as_text(data), rules):
        if text and text[0] != "#":
            name, args = split_name(text)
            yield to_bytes(name).lower().decode("latin-1"), args


class _Formatter:
    """One file being formatted; *ended* is True if the last line has a line end."""

    def __init__(self, document: Document, spelling: Spelling, indent: int) -> None:
        self.document = document
        self.spelling = spelling
        self.indent = indent

    def lines(self) -> Iterator[bytes]:
        """Return the pieces of the result: at most one blank line in a row, none at the beginning or end of
        the file or of a section.
        """
        blank = False
        first = True
        last = b""
        for piece, depth, plain in self._pieces():
            if isinstance(piece, Blank):
                blank = not first
                continue
            if blank and not isinstance(piece, Close):
                yield b"\n"
            last = self._piece(piece, depth, plain)
            yield last
            blank = False
            first = isinstance(piece, Section) and piece.close is not None
        if last and not last.endswith((b"\n", b"\\")):
            yield b"\n"

    def _pieces(self) -> Iterator[tuple[Node | Close, int, bool]]:
        """Everything in the order of the file, with its depth and whether names in it are
        directives' names.
        """
        waiting: list[tuple[Node | Close, int, bool]] = [
            (node, 0, True) for node in reversed(self.document.children)
        ]
        while waiting:
            piece, depth, plain = waiting.pop()
            yield piece, depth, plain
            if isinstance(piece, Section) and not _foreign(piece):
                inside = plain and piece.name.lower() not in TEXTUAL
                waiting += [(piece.close, depth, plain)] if piece.close else []
                waiting += [(child, depth + 1, inside) for child in reversed(piece.children)]

    def _piece(self, piece: Node | Close, depth: int, plain: bool) -> bytes:
        data = self.document.bytes
        if isinstance(piece, Section) and _foreign(piece):
            return data[piece.start : piece.end]
        end = piece.body if isinstance(piece, Section) else piece.end
        source = data[piece.start : end]
        if isinstance(piece, Malformed):
            return source
        if plain and isinstance(piece, Directive | Section | Close):
            source = self._respelled(piece, source)
        body = source.lstrip(WHITE.encode())
        if not body:
            return source
        return b" " * (self.indent * depth) + (
            body if isinstance(piece, Comment) and body.count(b"\n") > 1 else _trimmed(body)
        )

    def _respelled(self, piece: Directive | Section | Close, source: bytes) -> bytes:
        """Return the line with the usual spelling of its name."""
        known = self.spelling(piece.name if isinstance(piece, Directive) else f"<{piece.name}")
        if known is None:
            return source
        known = known if isinstance(piece, Directive) else known[1:]
        start, end = name_range(self.document, piece)
        written = self.document.bytes[start:end]
        at = written.lower().find(to_bytes(known).lower())
        if at < 0 or len(written.strip(b"</>")) != len(known):
            return source
        start += at - piece.start
        return source[:start] + to_bytes(known) + source[start + len(known) :]


def _foreign(section: Section) -> bool:
    """Return True if the section contains another language, or is not closed."""
    return section.close is None or section.name.lower().startswith(FOREIGN)


def _trimmed(line: bytes) -> bytes:
    """Return the line without trailing white space, unless a backslash would then end it."""
    body = line.rstrip(b"\r\n")
    tail = line[len(body) :]
    plain = body.rstrip(b" \t")
    return line if plain.endswith(b"\\") or tail not in (b"", b"\n", b"\r\n") else plain + tail
