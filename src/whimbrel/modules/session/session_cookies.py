"""Cookies of the session modules, after httpd's util_cookies.

The fields Cookie and Cookie2 are parsed without quoting: pieces end at ``;`` and ``,``; a name is exact; a
value is the rest of its piece.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import split
from whimbrel.directives.tokens import getword

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_PIECE: Final = re.compile(r"(?<![,;])([,;]*+)([^,;]++)")
_FIELDS: Final = ("Cookie", "Cookie2")  # RFC 2965, 3.3.5: a client of version 1 sends both
_BLANKS: Final = " \t"
_DEFAULT_ATTRIBUTES: Final = "HttpOnly;Secure;Version=1"


@dataclass(frozen=True, slots=True)
class CookieName:
    """A cookie's name and attributes; *modern* ones are sent as Set-Cookie2."""

    name: str
    attributes: str = ""
    modern: bool = False


def named(directive: str, line: str, *, empty: str, bad: str, marks: str) -> CookieName:
    """Parse a RAW_ARGS directive: the name, then attributes as written.

    Raises ConfigError: *empty* without arguments, *bad* for a name that contains one of *marks*.
    """
    modern = directive.endswith("2")
    line = line.strip(_BLANKS)
    if not line:
        raise ConfigError(empty)
    name = split(line, 1)[0] if not modern else ""
    rest = line[len(name) :]
    if modern:
        name, rest = getword(line)  # the only one of the two with quoting
    if any(mark in name for mark in marks):
        raise ConfigError(bad)
    return CookieName(name, rest.lstrip(_BLANKS), modern)


def read(r: Request, name: str, *, remove: bool) -> str | None:
    """Return the value of the client's cookie *name*; None without one, and (logged) if two of that name
    differ.

    *remove*: remove it from its fields for later readers, unless two differ.
    """
    values: list[str] = []
    rests: dict[str, str] = {}
    for field in _FIELDS:
        line = r.headers_in.get_list(field)
        if line is not None:
            taken, rests[field] = _taken(line, name + "=")
            values += taken
    if len(set(values)) > 1:
        r.log("error", f"ap_cookie: client submitted cookie '{name}' more than once: {r.uri}", code="AH00011")
        return None
    if remove:
        for field, rest in rests.items():
            if rest:
                r.own_fields().set(field, rest)
            else:
                r.own_fields().unset(field)
    return values[0] if values else None


def _taken(field: str, start: str) -> tuple[list[str], str]:
    """Return the values of the cookie that begins with *start*, and the field without them."""
    values: list[str] = []
    rest = ""
    others = False
    eat = False
    for between, piece in _PIECE.findall(field):
        bare = piece.lstrip(" \t\n\v\f\r")
        if bare.startswith(start):
            values.append(bare[len(start) :])
            eat = True
            continue
        if not bare.startswith("$"):
            others = True
            eat = False
        if not eat:
            rest += (between[:1] if rest else "") + piece
    return values, rest if others else ""


def write(r: Request, cookie: CookieName, value: str, lifetime: int, *, everywhere: bool = False) -> None:
    """Set the cookie for *lifetime* seconds (0: for the browser's session); *everywhere*: in both header
    tables, as mod_session_dbd does.
    """
    age = f"Max-Age={lifetime};" if lifetime else ""
    line = f"{cookie.name}={value};{age}{cookie.attributes or _DEFAULT_ATTRIBUTES}"
    code, kind = ("AH00008", "cookie2") if cookie.modern else ("AH00007", "cookie")
    r.log("debug", f"ap_cookie: user '{r.user or '(null)'}' set {kind}: '{line}'", code=code)
    for table in (r.err_headers_out, r.headers_out) if everywhere else (r.err_headers_out,):
        table.add(_field(cookie), line)


def clear(r: Request, cookie: CookieName) -> None:
    """Expire the cookie, in both header tables as httpd does."""
    for table in (r.err_headers_out, r.headers_out):
        table.add(_field(cookie), f"{cookie.name}=;Max-Age=0;{cookie.attributes}")


def _field(cookie: CookieName) -> str:
    return "Set-Cookie2" if cookie.modern else "Set-Cookie"
