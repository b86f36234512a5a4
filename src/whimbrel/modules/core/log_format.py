"""The format strings of ErrorLogFormat.  Manual: mod/core.html#errorlogformat."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whimbrel.errors import ConfigError

LETTERS = frozenset("aAeEFiklLmMnPtTvV")
_ITEM = re.compile(r"(?P<flags>[-+]*)(?P<level>\d*)(?P<more>[-+]*)(?:\{(?P<argument>[^}]*)\})?(?P<letter>.)", re.DOTALL)
_HIGHEST_LEVEL = 15


@dataclass(frozen=True, slots=True)
class FormatItem:
    """One piece of a format: plain *text* with an empty letter, or a field.

    *flags* holds ``-`` (a hyphen for nothing) and ``+`` (the line goes when the field is empty); *level* is the lowest level number at which the
    field is written.
    """

    letter: str
    text: str = ""
    argument: str = ""
    flags: str = ""
    level: int = 0


def parse_format(text: str) -> list[FormatItem]:
    """The pieces of a format; raises ConfigError in httpd's words."""
    items: list[FormatItem] = []
    plain, at = "", 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1:at + 2]:
            plain += {"n": "\n", "t": "\t", "r": "\r"}.get(text[at + 1], text[at + 1])
            at += 2
        elif text[at] == "%" and text[at + 1:at + 2] in ("%", " "):
            plain += text[at + 1] if text[at + 1] == "%" else ""
            at += 2
        elif text[at] == "%":
            if plain:
                items.append(FormatItem("", plain))
            plain = ""
            item, at = _field(text, at + 1)
            items.append(item)
        else:
            plain += text[at]
            at += 1
    return [*items, FormatItem("", plain)] if plain else items


def _field(text: str, at: int) -> tuple[FormatItem, int]:
    found = _ITEM.match(text, at)
    if found is None or found["letter"] == "{":
        raise ConfigError("Ran off end of error log format parsing args to some directive")
    level = int(found["level"] or 0)
    if level > _HIGHEST_LEVEL:
        raise ConfigError("The specified loglevel modifier is out of range")
    if found["letter"] not in LETTERS:
        raise ConfigError(f"Unrecognized error log format directive %{found['letter']}")
    flags = found["flags"] + found["more"]
    return FormatItem(found["letter"], argument=found["argument"] or "", flags=flags, level=level), found.end()
