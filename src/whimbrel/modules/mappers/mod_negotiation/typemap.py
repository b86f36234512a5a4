"""Type maps: files that list the variants of a resource.

Manual: mod/mod_negotiation.html#typemaps.
"""

from __future__ import annotations

import re

from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import BLANKS, decimal, is_blank, is_digits, lower, strip
from whimbrel.modules.mappers.mod_negotiation.accept import entry
from whimbrel.modules.mappers.mod_negotiation.choose import Variant
from whimbrel.modules.support.tokens import get_token

_COMMENT = re.compile(r"\([^)]*\)?")


class MapError(Exception):
    """Error in a map: *code* and *words* for the log.

    *ends*: the rest of the map is ignored, else the request fails.
    """

    def __init__(self, code: str, words: str, *, ends: bool) -> None:
        super().__init__(words)
        self.code, self.words, self.ends = code, words, ends


class MapReader:
    """Reader of one map; `variants` holds what was read so far, also after a MapError."""

    def __init__(self, data: bytes, path: str) -> None:
        self.lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
        self.at = 0
        self.path = path
        self.variants: list[Variant] = []

    def read(self) -> None:
        """Read the map; raise MapError."""
        variant, content = Variant(), False
        while (line := self._line()) is not None:
            if not strip(line):
                if variant.name and content:
                    self.variants.append(variant)
                variant, content = Variant(), False
                continue
            content = self._take(variant, line) or content
        if variant.name and content:
            self.variants.append(variant)

    def _line(self) -> str | None:
        """Return the next field with its continuation lines, "" for an empty line, None at the end.

        Lines with # are comments.
        """
        while self.at < len(self.lines) and self.lines[self.at].startswith(b"#"):
            self.at += 1
        if self.at >= len(self.lines):
            return None
        line = to_text(self.lines[self.at])
        self.at += 1
        if not strip(line) or lower(line[:5]) == "body:":
            return line
        while self.at < len(self.lines):
            following = to_text(self.lines[self.at])
            if following.startswith("#"):
                self.at += 1
            elif is_blank(following[:1]) and strip(following):
                line += following.lstrip(BLANKS).rstrip("\n") + "\n"
                self.at += 1
            else:
                break
        return line

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
                body = body[1:] if body[:1] in (",", ";") else "" if not strip(body) else body
        else:
            number = strip(body)
            if not is_digits(number):
                words = f"Parse error in type map, Content-Length: '{number}' in {self.path} is invalid."
                raise MapError("AH00684", words, ends=True)
            variant.size = decimal(number)

    def _take_body(self, variant: Variant, tag: str) -> None:
        start = self.at
        while self.at < len(self.lines):
            line = to_text(self.lines[self.at])
            self.at += 1
            if line.startswith(tag):
                variant.body = b"".join(self.lines[start : self.at - 1])
                variant.size = len(variant.body)
                variant.name = self.path.rpartition("/")[2]
                return
        raise MapError(
            "AH00685",
            f"Syntax error in type map, no end tag '{tag}' found in {self.path} for Body: content.",
            ends=True,
        )
