"""Fields of WebDAV requests: Depth, Overwrite, Timeout, Destination, Content-Range (RFC 4918, 10)."""

from __future__ import annotations

from time import time
from typing import Final

from whimbrel.base.numbers import is_digits, lower, split, strtol, strtol_exact
from whimbrel.engine.identity import scheme
from whimbrel.engine.request import Request
from whimbrel.modules.dav.mod_dav.errors import DavError, Refusal
from whimbrel.modules.dav.mod_dav.locks import INFINITE
from whimbrel.modules.dav.mod_dav.provider import ALL
from whimbrel.modules.dav.mod_dav.uri import UriError, parse_uri

INVALID_DEPTH: Final = -2
_MAX_SECONDS: Final = (1 << 32) - 1  # of a lock (RFC 4918, 10.7)
_MAX_SECONDS_22: Final = 1 << 40  # 2.2 has no bound; this one keeps the sum in 64 bits
_PORTS: Final = {"http": 80, "https": 443}


def depth_of(r: Request, default: int = ALL) -> int:
    """Return 0, 1 or ALL; INVALID_DEPTH for anything else, which is logged."""
    value = r.headers_in.get("Depth")
    if value is None:
        return default
    if lower(value) == "infinity":
        return ALL
    if value in ("0", "1"):
        return 1 if value == "1" else 0
    r.log("error", "An invalid Depth header was specified.", code="AH00580", module="dav")
    return INVALID_DEPTH


def may_overwrite(r: Request) -> bool:
    """Return False for ``Overwrite: F``; raise Refusal(400) for anything but T and F, which is logged."""
    value = r.headers_in.get("Overwrite")
    if value is None or value in ("T", "t"):
        return True
    if value in ("F", "f"):
        return False
    r.log("error", "An invalid Overwrite header was specified.", code="AH00581", module="dav")
    raise Refusal(400)


def expiry(r: Request) -> int:
    """Return the time at which the Timeout field lets a lock expire, or INFINITE."""
    for word in split(r.headers_in.get("Timeout") or ""):
        if word.startswith("Infinite"):
            return INFINITE
        if word.startswith("Second-"):
            longest = _MAX_SECONDS_22 if r.plan.dialect.dav_22 else _MAX_SECONDS
            return int(time()) + max(0, min(strtol(word[7:])[0], longest))
    return INFINITE


def content_range(r: Request) -> int | None:
    """Return the position at which Content-Range lets PUT write, None without the field; raise ValueError."""
    value = r.headers_in.get("Content-Range")
    if value is None:
        return None
    first, dash, rest = value[6:].partition("-")
    last, slash, total = rest.partition("/")
    start = _length(first)
    end = _length(last)
    length = _length(total)
    is_valid = lower(value[:6]) == "bytes " and dash and slash and start is not None and end is not None
    if not is_valid or end < start or (total[:1] != "*" and (length is None or length <= end)):  # type: ignore[operator]
        raise ValueError(value)
    return start


def _length(text: str) -> int | None:
    return strtol_exact(text) if is_digits(text[:1]) else None


def destination_of(r: Request) -> str:
    """Return the path of the Destination field.

    Raises Refusal with 400, which is logged, for a URL of a wrong form, and DavError with 502 for another
    scheme than the request's.  httpd does not compare host and port.
    """
    value = r.headers_in.get("Destination")
    if value is None:
        host = r.headers_in.get("Host")
        path = r.headers_in.get("New-uri")
        value = f"http://{host}{path}" if host is not None and path is not None else None
    if value is None:
        r.log("error", "The request is missing a Destination header.", code="AH00591", module="dav")
        raise Refusal(400)
    try:
        uri = parse_uri(value)
    except UriError:
        raise _refused(r, "Invalid syntax in Destination URI.") from None
    if uri.scheme is None:
        raise _refused(r, "Destination URI must be an absolute URI.")
    if uri.query is not None or uri.fragment is not None:
        raise _refused(r, "Destination URI contains invalid components (a query or a fragment).")
    own = scheme(r)
    if uri.scheme != own:
        port = uri.port or _PORTS.get(uri.scheme, 0)
        local = r.connection.local_port
        raise DavError(
            502,
            f"Destination URI refers to different scheme or port ({uri.scheme}://hostname:{port or local})\n"
            f"(want: {own}://hostname:{local})",
        )
    return uri.path or "/"


def _refused(r: Request, reason: str) -> Refusal:
    r.log("error", reason, code="AH00592", module="dav")
    return Refusal(400)
