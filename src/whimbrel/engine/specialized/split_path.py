"""Paths of request lines, split at a directory."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.http.syntax.head_shape import LINE_PIECES, Pieces

MAX_PATH: Final = 1024
_NAME: Final = rb"[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9_.~!$&'()*+,;=:@-]{0,200}"
# a request line of HTTP/1, or of HTTP/2 (see http2/protocol.py), up to the query, with a path that needs no
# decoding; the whole line
_START: Final = rb"((?:\0[01] )?(?:GET|HEAD) (?:https? )?)(/(?:%b/)*)((?:%b)?)" % (_NAME, _NAME)
START_FORM: Final = re.compile(_START).fullmatch
LINE_FORM: Final = re.compile(
    _START + rb"(\?[!\"$-~\x80-\xff]*)?((?: [!-~]+)? HTTP/(?:1\.[01]|2\.0))"
).fullmatch


LineParts = tuple[bytes, bytes, bytes, bytes | None, bytes]
"""Method and what else is before the path; directory; name; query with its mark; what follows."""


def line_parts(line: bytes) -> LineParts | None:
    """Return the parts of a request line, the path split before its last segment; None for lines of another
    form."""
    match = LINE_FORM(line) if len(line) <= MAX_PATH else None
    if match is None:
        return None
    before, directory, name, query, after = match.groups()
    return before, directory, name, query, after


def split_start(pieces: Pieces) -> LineParts | None:
    """Return `line_parts` of the head with these pieces (`SplitHead`)."""
    start, query, after = pieces[:LINE_PIECES]
    match = START_FORM(start) if len(start) + len(query or b"") + len(after) <= MAX_PATH else None
    if match is None:
        return None
    before, directory, name = match.groups()
    return before, directory, name, query, after


class SplitPath:
    """The path of a request line, split at a known directory.

    Attributes:
        frame: the request line without its path and query.
        path, directory, name: the path; the directory with both slashes; the first name below it.
        rest: what follows the name: 0 nothing, 1 a slash, 2 more segments.
    """

    __slots__ = ("directory", "frame", "name", "path", "rest")

    def __init__(self, frame: bytes, directory: bytes, name: bytes) -> None:
        self.frame, self.path = frame, directory + name
        self.directory, self.name, self.rest = directory, name, 0

    def ascend(self) -> bool:
        """Split one segment earlier; return False at the root."""
        directory = self.directory
        at = directory.rfind(b"/", 0, -1) + 1
        if not at:
            return False
        self.rest = 2 if self.name or self.rest else 1
        self.name, self.directory = directory[at:-1], directory[:at]
        return True


def split_path(line: bytes) -> SplitPath | None:
    """Return the path of a request line, split before its last segment; None for lines of another form."""
    parts = line_parts(line)
    if parts is None:
        return None
    before, directory, name, _query, after = parts
    return SplitPath(before + after, directory, name)
