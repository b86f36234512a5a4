"""Heads of answers as clients see them (ap_proxy_read_headers, ap_proxy_http_process_response)."""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import ResponseHead
from whimbrel.http.semantics.dates import format_http, parse_http
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.status import known, status_line
from whimbrel.modules.proxy.mod_proxy.canonical_url import ReverseMaps
from whimbrel.modules.proxy.mod_proxy.reverse import cookie_reverse_map, location_reverse_map
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy_http.request_head import clear_connection, via_value

DATES: Final = ("date", "expires", "last-modified")
LOCATIONS: Final = frozenset(("location", "content-location", "uri", "destination"))
_COOKIE: Final = "set-cookie"
MAPPED: Final = LOCATIONS | {_COOKIE}
HOP_BY_HOP: Final = ("keep-alive", "proxy-authenticate", "te", "trailer", "upgrade", "transfer-encoding")
# Fields because of which an answer takes the long way.
_RARE: Final = MAPPED | {*HOP_BY_HOP[1:], "proxy-connection", "warning", "connection", "keep-alive"}
_PLAIN_OPTIONS: Final = frozenset(("keep-alive", "Keep-Alive", "close"))
_WARNING: Final = compile(r'[0-9]{3}[ \t]+[^ \t]+[ \t]+"[^"]*"([ \t]+"([^"]+)")?')


def set_status(r: Request, head: ResponseHead) -> None:
    """Set status and status line; the reason phrase is the back end's, even an empty one."""
    r.status = head.status
    r.status_line = None
    if head.reason is not None:
        line = f"{head.status:03} {head.reason}"
        old = not r.plan.dialect.messages_24
        if not known(head.status, version22=old) or line != status_line(head.status, version22=old):
            r.status_line = line


def response_fields(call: ProxyCall, fields: Headers) -> Headers:
    """Return the fields of an answer for the client; *fields* may be changed."""
    r = call.r
    entries = fields.entries()
    if not fields.is_unique or not _RARE.isdisjoint(entries) or _COOKIE in r.headers_out.entries():
        option = entries.get("connection")
        is_plain = fields.is_unique and (entries.keys() & _RARE <= {"connection", "keep-alive"})
        is_plain = is_plain and _COOKIE not in r.headers_out.entries()
        if is_plain and (option is None or option[1] in _PLAIN_OPTIONS):
            fields.unset("Connection")
            fields.unset("Keep-Alive")
        else:
            fields = _cleaned(r, _mapped(call, fields))
    for name in DATES:
        pair = entries.get(name)
        if pair is not None and fields.is_unique:
            date = canonical_date(pair[1])
            if date != pair[1]:
                fields.set(name, date)
    if call.conf.via not in ("off", "block"):
        fields.add("Via", via_value(r, call.conf.via))
    return fields


def canonical_date(text: str) -> str:
    """Return a date in any of the three forms as an IMF-fixdate; another text as it is (date_canon)."""
    seconds = parse_http(text)
    return text if seconds is None else format_http(seconds)


def _mapped(call: ProxyCall, fields: Headers) -> Headers:
    """Return *fields* with URLs and cookies of the back end as the client uses them, dates in one form; the
    cookies of earlier phases and then those of the answer are last.
    """
    r = call.r
    maps: ReverseMaps | None = None
    out = Headers()
    cookies = [("Set-Cookie", value) for value in r.headers_out.get_all("Set-Cookie")]
    for name, value in fields.entries().values():
        low = lower(name)
        if low in MAPPED:
            maps = maps or ReverseMaps(r)
            if low == _COOKIE:
                cookies.append((name, cookie_reverse_map(r, maps, value)))
                continue
            value = location_reverse_map(r, maps, value)
        elif low in DATES:
            value = canonical_date(value)
        out.add(name, value)
    out.extend(cookies)
    return out


def _cleaned(r: Request, fields: Headers) -> Headers:
    """Remove the fields of the connection, and warnings with a wrong date."""
    clear_connection(fields, version22=not r.plan.dialect.messages_24)
    for name in HOP_BY_HOP:
        fields.unset(name)
    return _without_old_warnings(fields) if "Warning" in fields else fields


def _without_old_warnings(fields: Headers) -> Headers:
    """Return *fields* with the warnings first, each in a field, but those whose date is not that of the
    answer (ap_proxy_clean_warnings).
    """
    sent = fields.get("Date")
    date = None if sent is None else parse_http(sent)
    out = Headers()
    for value in fields.get_all("Warning"):
        for match in _WARNING.finditer(value):
            time = None if match[2] is None else parse_http(match[2])
            if time is None or time == date:
                out.add("Warning", match[0])
    fields.unset("Warning")
    out.extend(fields.entries().values())
    return out
