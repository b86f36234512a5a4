"""Type maps: files that list the variants of a resource. Manual: mod/mod_negotiation.html#typemaps."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import BLANKS, decimal, is_blank, is_digits, lower, strip
from whimbrel.modules.mappers.mod_negotiation.accept import entry
from whimbrel.modules.mappers.mod_negotiation.choose import Variant
from whimbrel.modules.support.tokens import get_token

# bytes of a map in which a body and its end tag have to lie (MAX_STRING_LEN)
MAX_BODY: Final = 8192
_COMMENT = re.compile(r"\([^)]*\)?")


class MapError(Exception):
    """Error in a map: *code* and *words* for the log; *ends*: of the map, else of the request."""

    def __init__(self, code: str, words: str, *, ends: bool) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.ends = ends


class MapReader:
    """Reader of one map; `variants` holds what was read so far, also after a MapError."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data = data
        self.at = 0
        self.path = path
        self.variants: list[Variant] = []

    def read(self) -> None:
        """Read the map; raise MapError."""
        variant = Variant()
        content = False
        while (line := self._line()) is not None:
            if not strip(line):
                if variant.name and content:
                    self.variants.append(variant)
                variant = Variant()
                content = False
                continue
            content = self._take(variant, line) or content
        if variant.name and content:
            self.variants.append(variant)

    def _line(self) -> str | None:
        """Return the next field with its continuation lines, "" for an empty line, None at the end.

        Lines with # are comments.  A NUL ends the C text that httpd makes of the lines.
        """
        while self.data.startswith(b"#", self.at):
            self._skip_line()
        if self.at >= len(self.data):
            return None
        line = self._skip_line().partition("\0")[0]
        if not strip(line) or lower(line[:5]) == "body:":
            return line
        pieces = [line]
        while self.at < len(self.data):
            start = self.at
            following = self._skip_line()
            if following.startswith("#"):
                continue
            if not is_blank(following[:1]) or not strip(following):
                self.at = start
                break
            pieces.append(following.lstrip(BLANKS).rstrip("\n") + "\n")
        return "".join(pieces).partition("\0")[0]

    def _skip_line(self) -> str:
        """Return the line at the current position, with its end, and go behind it."""
        start = self.at
        end = self.data.find(b"\n", self.at)
        self.at = len(self.data) if end < 0 else end + 1
        return to_text(self.data[start : self.at])

    def _take(self, variant: Variant, line: str) -> bool:
        """Store one field; return True if it describes the content."""
        name, colon, body = line.partition(":")
        name = lower(name)
        if not colon:
            raise MapError(
                "AH00681", f"Syntax error in type map, no ':' in {self.path} for header {name}", ends=False
            )
        body = _COMMENT.sub(lambda m: " " * len(m[0]), body.lstrip(BLANKS))
        if not body:
            raise MapError(
                "AH00682",
                f"Syntax error in type map --- no header body: {self.path} for "
                f"{name}:{line[len(name) + 1 :]}",
                ends=False,
            )
        if name == "uri":
            variant.name = get_token(body)[0]
        elif name == "description":
            variant.description = body.replace("\n", " ")[:-1]
        elif name == "body":
            self._take_body(variant, body.rstrip(BLANKS))
        elif name in ("content-type", "content-length", "content-language", "content-encoding"):
            self._take_content(variant, name, body)
            return True
        return False

    def _take_content(self, variant: Variant, name: str, body: str) -> None:
        if name == "content-type":
            variant.take_type(entry(body)[0])
        elif name == "content-encoding":
            variant.encoding = lower(get_token(body)[0])
        elif name == "content-language":
            while body:
                language, body = get_token(body)
                variant.languages.append(lower(language))
                if body[:1] in (",", ";"):
                    body = body[1:]
                elif not strip(body):
                    body = ""
                else:
                    body = body
        else:
            number = strip(body)
            if not is_digits(number):
                words = f"Parse error in type map, Content-Length: '{number}' in {self.path} is invalid."
                raise MapError("AH00684", words, ends=True)
            variant.size = decimal(number)

    def _take_body(self, variant: Variant, tag: str) -> None:
        """Store the text before *tag*, which may end anywhere in a line; the rest of that line is ignored.

        A tag counts as found if the window ends with its beginning (get_body).
        """
        mark = to_bytes(tag)
        window = self.data[self.at : self.at + MAX_BODY - len(mark)]
        end = (window + mark).find(mark)
        if not window or (end == len(window) and mark) or b"\0" in window[:end]:
            raise MapError(
                "AH00685",
                f"Syntax error in type map, no end tag '{tag}' found in {self.path} for Body: content.",
                ends=True,
            )
        variant.body = window[:end]
        variant.size = end
        variant.name = self.path.rpartition("/")[2]
        self.at += end + len(mark)
        self._skip_line()
