"""CO flag: ``NAME:VALUE:DOMAIN[:minutes[:path[:secure[:httponly[:samesite]]]]]``.

A leading ``;`` makes ``;`` the separator.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whimbrel.base.numbers import atoi
from whimbrel.engine.redirect_chain import first_request
from whimbrel.http.semantics.dates import MONTHS

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_TRUE = ("true", "1")


def cookie(text: str, now: float, *, version22: bool = False) -> tuple[str, str] | None:
    """Return the cookie's name and Set-Cookie value; None if a part is missing; empty ones are none."""
    separator = ":"
    if text.startswith(";") and not version22:
        separator, text = ";", text[1:]
    parts = [part for part in text.split(separator) if part]
    if len(parts) < 3:
        return None
    name, value, domain, minutes, path, secure, http_only, same_site = (*parts[:8], *[""] * (8 - len(parts)))
    out = f"{name}={value}; path={path or '/'}; domain={domain}"
    if minutes and atoi(minutes):
        out += f"; expires={_date(now + 60 * atoi(minutes))}"
    if secure.lower() in (*_TRUE, "secure"):
        out += "; secure"
        if http_only.lower() in (*_TRUE, "httponly"):  # httpd ignores it unless the cookie is secure
            out += "; HttpOnly"
    if not version22 and same_site and same_site != "0" and same_site.lower() != "false":
        out += f"; SameSite={same_site}"
    return name, out


def _date(seconds: float) -> str:
    t = time.gmtime(int(seconds))
    return (
        f"{_DAYS[t.tm_wday]}, {t.tm_mday:02}-{MONTHS[t.tm_mon - 1]}-{t.tm_year:04} "
        f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02} GMT"
    )


def main_request(r: Request) -> Request:
    """Return the main request of *r*, at any depth of sub-requests."""
    while r.main is not None:
        r = r.main
    return r


def send(r: Request, name: str, value: str) -> bool:
    """Add a Set-Cookie field to the main request; return False if this name was sent before.

    Each name is sent once for all redirects of a request.
    """
    r = main_request(r)
    first = first_request(r)
    note = f"{name}_rewrite"
    if note in first.notes:
        return False
    first.notes[note] = "set"
    r.err_headers_out.add("Set-Cookie", value)
    return True
