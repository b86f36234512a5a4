"""Paths of request lines, split at a directory."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.http.syntax.head_shape import PLAIN_LINE

MAX_PATH: Final = 1024
MAX_NAME: Final = 201
_NAME: Final = rb"[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9_.~!$&'()*+,;=:@-]{0,200}+"
# the beginning of a request line of HTTP/1, or of HTTP/2 (see http2/protocol.py), up to the last slash of a
# path that needs no decoding
_PREFIX: Final = rb"((?:\0[01] )?(?:GET|HEAD) (?:https? )?)(/(?:%b/)*)" % _NAME
PREFIX_FORM: Final = re.compile(_PREFIX).fullmatch
NAME_FORM: Final = re.compile(rb"(?:%b)?" % _NAME).fullmatch
LINE_FORM: Final = re.compile(
    _PREFIX + rb"((?:%b)?)(?:\?[!\"$-~\x80-\xff]*)?((?: [!-~]+)? HTTP/(?:1\.[01]|2\.0))" % _NAME
).fullmatch
# a request line of HTTP/1 as logs show it without escapes
_LOGGED_FORM: Final = re.compile(rb"(?=GET |HEAD )" + PLAIN_LINE).fullmatch


LineParts = tuple[bytes, bytes | None, bytes]
"""A request line up to its query; the query with its mark; what follows: the first pieces of `SplitHead`."""


def logged_parts(line: bytes) -> LineParts | None:
    """Return the parts of a request line of GET or HEAD in an access log; None for lines of another form."""
    match = _LOGGED_FORM(line)
    if match is None:
        return None
    start, query, after = match.groups()
    return start, query, after


class SplitPath:
    """The path of a request line, split at a known directory.

    Attributes:
        frame: the request line without its path and query.
        path, directory, name: the path; the directory with both slashes; the first name below it.
        rest: what follows the name: 0 nothing, 1 a slash, 2 more segments.
    """

    __slots__ = ("directory", "frame", "name", "path", "rest")

    def __init__(self, frame: bytes, directory: bytes, name: bytes) -> None:
        self.frame = frame
        self.path = directory + name
        self.directory = directory
        self.name = name
        self.rest = 0

    def ascend(self) -> bool:
        """Split one segment earlier; return False at the root."""
        directory = self.directory
        at = directory.rfind(b"/", 0, -1) + 1
        if not at:
            return False
        self.rest = 2 if self.name or self.rest else 1
        self.name = directory[at:-1]
        self.directory = directory[:at]
        return True


def split_path(line: bytes) -> SplitPath | None:
    """Return the path of a request line, split before its last segment; None for lines of another form."""
    match = LINE_FORM(line) if len(line) <= MAX_PATH else None
    if match is None:
        return None
    before, directory, name, after = match.groups()
    return SplitPath(before + after, directory, name)
