"""Format strings of ErrorLogFormat. Manual: mod/core.html#errorlogformat."""

from __future__ import annotations

import re

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile

LETTERS = frozenset("aAeEFiklLmMnPtTvV")
_ITEM = compile(
    r"(?P<flags>[-+]*)(?P<level>\d*)(?P<more>[-+]*)(?:\{(?P<argument>[^}]*)\})?(?P<letter>.)", re.DOTALL
)
_HIGHEST_LEVEL = 15


@dataclass(frozen=True, slots=True)
class FormatItem:
    """One item of a format, or literal text.

    Attributes:
        text: literal text, if the letter is empty
        flags: ``-`` (a hyphen for an empty value) and ``+`` (an empty value drops the line)
        level: lowest level number at which the field is written
        starts: begins a field, which is written or omitted as a whole
    """

    letter: str
    text: str = ""
    argument: str = ""
    flags: str = ""
    level: int = 0
    starts: bool = False


def parse_format(text: str) -> list[FormatItem]:
    """Parse a format; raise ConfigError with httpd's messages."""
    items: list[FormatItem] = []
    at = 0
    while at < len(text):
        if text[at] == "%" and text[at + 1 : at + 2] == " ":
            items.append(FormatItem("", starts=True))
            at += 2
        elif text[at] == "%" and text[at + 1 : at + 2] != "%":
            item, at = _field(text, at + 1)
            items.append(item)
        else:
            item, at = _plain(text, at)
            items.append(item)
    return items


def _plain(text: str, at: int) -> tuple[FormatItem, int]:
    """Read text up to the next item or field; blanks at its front begin a field, escaped blanks do not."""
    starts = text[at] == " "
    out = ""
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2]:
            out += {"n": "\n", "t": "\t", "r": "\r"}.get(text[at + 1], text[at + 1])
            at += 2
        elif text.startswith("%%", at):
            out += "%"
            at += 2
        elif text[at] == "%" or (text[at] == " " and out.strip(" ")):
            break
        else:
            out += text[at]
            at += 1
    return FormatItem("", out, starts=starts), at


def _field(text: str, at: int) -> tuple[FormatItem, int]:
    match = _ITEM.match(text, at)
    if match is None or match["letter"] == "{":
        raise ConfigError("Ran off end of error log format parsing args to some directive")
    level = int(match["level"] or 0)
    if level > _HIGHEST_LEVEL:
        raise ConfigError("The specified loglevel modifier is out of range")
    if match["letter"] not in LETTERS:
        raise ConfigError(f"Unrecognized error log format directive %{match['letter']}")
    flags = match["flags"] + match["more"]
    return FormatItem(
        match["letter"], argument=match["argument"] or "", flags=flags, level=level
    ), match.end()
