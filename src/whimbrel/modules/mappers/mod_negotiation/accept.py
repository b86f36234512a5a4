"""Parser of Accept... fields and of Negotiate, as mod_negotiation reads them.

RFC 9110, section 12.5; RFC 2295; RFC 2296.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import BLANKS, atoi, is_blank, is_digits, lower, split, strip
from whimbrel.modules.support.tokens import get_token

CGI_TYPE: Final = "application/x-httpd-cgi"
_LEVELS: Final = {"text/html": 2.0, "text/x-server-parsed-html": 2.0, "text/x-server-parsed-html3": 3.0}
PSEUDO_HTML: Final = frozenset(_LEVELS)


@dataclass(frozen=True, slots=True)
class Entry:
    """One member of an Accept... field, or a media type with parameters; names are in lower case."""

    name: str
    quality: float = 1.0
    level: float = 0.0
    charset: str = ""


def quality(text: str) -> float:
    """Return a quality value of at most three digits; an invalid one counts as 1."""
    text = text.lstrip(BLANKS)
    if not text or text[0] not in ".0":
        return 1.0
    if text[0] == "0" and text[1:2] == ".":
        text = text.lstrip("0")
    elif text[0] == "0":
        text = text[1:]
    else:
        text = text
    if not text.startswith("."):
        return 0.0
    value = 0
    for digit, factor in zip(text[1:4], (100, 10, 1), strict=False):
        if not is_digits(digit):
            break
        value += int(digit) * factor
    return value / 1000


def entry(text: str) -> tuple[Entry, str]:
    """Return the first member of *text* and the rest."""
    name, rest = get_token(text)
    name = lower(name)
    grade = 1.0
    level = _LEVELS.get(name, 0.0)
    charset = ""
    while rest.startswith(";"):
        parameter, rest = get_token(rest[1:], with_blanks=True)
        key, value = _parameter(parameter)
        if key in ("q", "qs"):
            grade = quality(value)
        elif key == "level":
            level = float(max(0, atoi(value)))
        elif key == "charset":
            charset = value
    return Entry(name, grade, level, charset), rest.removeprefix(",")


def _parameter(text: str) -> tuple[str, str]:
    """Return name and value of a parameter in lower case; ("", "") without ``=``."""
    end = next((i for i, c in enumerate(text) if is_blank(c) or c == "="), len(text))
    if end == len(text):
        return "", ""
    value = text[end + 1 :].lstrip(" \t\n\v\f\r=")
    if value.startswith('"'):
        value = value[1:].partition('"')[0]
    else:
        value = (split(value, 1) or [""])[0]
    return lower(text[:end]), lower(value)


def members(field: str | None) -> list[Entry] | None:
    """Return all members of a field, None without the field."""
    if field is None:
        return None
    out = []
    while field:
        member, rest = entry(field)
        if rest == field:
            break
        out.append(member)
        field = rest
    return out


@dataclass(slots=True)
class Transparency:
    """Values of the Negotiate field.

    Attributes:
        supported: the client understands lists of variants
        may_choose: the server may choose a variant
        rvsa: it may choose by RVSA/1.0
        literal: Accept... fields are read literally, without allowances for old browsers
    """

    supported: bool = False
    alternates: bool = False
    may_choose: bool = True
    rvsa: bool = False
    literal: bool = False


def transparency(negotiate: str | None, agent: str | None) -> Transparency:
    """Parse a Negotiate field; Lynx sends ``trans`` without support for it."""
    out = Transparency()
    if negotiate is None or (negotiate == "trans" and (agent or "").startswith("Lynx")):
        return out
    out.may_choose = False
    for word in (lower(strip(w)) for w in negotiate.split(",")):
        if word in ("trans", "vlist", "guess-small", "*") or is_digits(word[:1]):
            out.supported = True
            out.alternates = True
            if word == "1.0":
                out.may_choose = True
                out.rvsa = True
                out.literal = True
            elif word == "*":
                out.may_choose = True
                out.literal = True
    return out
