"""Regular expressions and URLs in directives: substitution of groups (ap_pregsub) and the test for a URL."""

from __future__ import annotations

import re

from whimbrel.base.errors import ConfigError
from whimbrel.base.regex import Match, Regex, RegexError
from whimbrel.directives.command import Command

_PIECE_24 = re.compile(r"\$(\d)|\\(.)|([^$\\]+|.)", re.S)
_PIECE_22 = re.compile(r"\$(\d)|(&)|\\(.)|([^$\\&]+|.)", re.S)
_URL = re.compile(r"[A-Za-z0-9+\-.]+:", re.ASCII)


class Substitution:
    """A text with ``$0`` to ``$9`` for the groups of a match (ap_pregsub); a backslash escapes the next
    character.

    In 2.2 an unescaped ``&`` stands for the whole match too.
    """

    __slots__ = ("pieces", "plain", "text")

    def __init__(self, text: str, *, ampersand: bool = False) -> None:
        self.text = text
        self.pieces: list[str | int] = []
        for match in (_PIECE_22 if ampersand else _PIECE_24).finditer(text):
            number = match[1]
            if number is not None:
                self.pieces.append(int(number))
            elif ampersand and match[2]:
                self.pieces.append(0)
            else:
                self.pieces.append(match[match.lastindex or 0])
        self.plain = (
            "".join(p for p in self.pieces if isinstance(p, str))
            if all(isinstance(p, str) for p in self.pieces)
            else None
        )

    def apply(self, match: Match) -> str:
        """Return the text with the groups of *match*; groups that do not exist or did not match are empty."""
        if self.plain is not None:
            return self.plain
        count = len(match.groups())
        out = []
        for piece in self.pieces:
            if isinstance(piece, str):
                out.append(piece)
            elif piece <= count:
                out.append(match.group(piece) or "")
        return "".join(out)


def is_url(text: str) -> bool:
    """Return True if *text* begins with a scheme, perhaps with digits first, and a colon (ap_is_url)."""
    return _URL.match(text) is not None


def compiled(cmd: Command, pattern: str, reason: str, *, ignore_case: bool = False) -> Regex:
    """Return the compiled expression; raises ConfigError(*reason*)."""
    try:
        return cmd.regex(pattern, ignore_case=ignore_case)
    except RegexError:
        raise ConfigError(reason) from None
