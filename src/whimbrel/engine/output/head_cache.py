"""Cache of response heads: heads of responses of the common form.

The head of such a response depends on the settings, on status, type and length, on its fields, and on the
persistence that the client requests. These are the key; a Keep-Alive count has a slot.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from whimbrel.engine.body import is_complete, size_of
from whimbrel.engine.output.field_slots import HeadPiece, KeepAliveCount, KeepAliveValue
from whimbrel.engine.request import Request
from whimbrel.engine.response import Framing, Response
from whimbrel.http.semantics.headers import Headers

HEADER_ONLY: Final = frozenset((204, 304))
FRAMING_FIELDS: Final = frozenset(
    ("range", "request-range", "connection")
)  # fields of a request that decide about the form of its response
RANGES: Final = frozenset(("range", "request-range"))
HTTP_1_1: Final = (1, 1)
_PROXIED: Final = "proxied"  # in keys of responses that have the Server field of an origin server, or none
# bound of the cache; heads beyond MAX_TEMPLATE bytes are not cached
MAX_TEMPLATES: Final = 512
MAX_TEMPLATE: Final = 4096
# Variables that decide about the form of a response.
FRAMING_ENV: Final = frozenset(
    ("force-no-vary", "downgrade-1.0", "force-response-1.0", "nokeepalive", "suppress-error-charset")
)


HeadKey = tuple[Any, ...]


class HeadTemplate(NamedTuple):
    """The head of a response around the value of Date, and its *fields*, which are never changed.

    *slot*: *after* in two pieces around the Keep-Alive count, and the count's start; None without a count.
    """

    before: bytes
    after: bytes
    fields: Headers
    slot: tuple[bytes, bytes, int] | None


def head_key(r: Request) -> HeadKey | None:
    """Return the key of the head of a request and response of the common form; None for all others."""
    asks = _asks(r)
    if (
        asks is None
        or r.err_headers_out.entries()
        or r.content_encodings
        or r.content_languages
        or not _common(r)
    ):
        return None
    length = 0
    for part in r.body:
        length += len(part) if type(part) is bytes else size_of(part)
    entries = r.headers_out.entries()
    if r.proxy:
        shown = [pair for low, pair in entries.items() if low != "date"]
        return (r.plan, r.status, r.content_type, length, asks, _PROXIED, *shown)
    return (r.plan, r.status, r.content_type, length, asks, *entries.values())


def origin_date(r: Request) -> bytes:
    """Return the Date of the origin server of a proxied response, b"" if it has set none."""
    entry = r.headers_out.entries().get("date") if r.proxy else None
    return b"" if entry is None else entry[1].encode("latin-1")


def _asks(r: Request) -> bool | None:
    """Return True or False as the client requests a persistent connection; None with other framing."""
    fields = r.headers_in
    if fields.has_none(FRAMING_FIELDS):
        return False
    entries = fields.entries()
    if "connection" not in entries or not RANGES.isdisjoint(entries):
        return None
    return True if entries["connection"][1].lower() == "keep-alive" and fields.is_unique else None


def _common(r: Request) -> bool:
    """Return True if nothing but the fields of the response decides about its head."""
    connection = r.connection
    env = r.env
    return (
        r.proto >= HTTP_1_1
        and is_complete(r.body)
        and not (
            r.header_only
            or r.chunked
            or r.close
            or r.expecting_100
            or r.no_cache
            or r.assbackwards
            or connection.is_draining
            or r.deps.clock_fields
            or r.body_factory is not None
        )
        and r.status_line is None
        and "no-etag" not in r.notes
        and r.body_in.failure is None
        and (
            not env
            or (
                FRAMING_ENV.isdisjoint(env)
                if env.__class__ is dict
                else not any(name in env for name in FRAMING_ENV)
            )
        )
        and not 0 < r.plan.server_core.max_keep_alive <= connection.served
        and (r.status not in HEADER_ONLY or not r.body)
    )


def store_head(r: Request, key: HeadKey, response: Response) -> None:
    """Store the head of a response."""
    if response.framing is not Framing.LENGTH or response.close or len(response.head_suffix) > MAX_TEMPLATE:
        return
    slot = None
    if response.slots:
        first, _count, second = response.slots
        assert isinstance(first, bytes) and isinstance(second, bytes)
        slot = first, second, r.keepalive_max + r.connection.served
    r.engine.head_templates[key] = HeadTemplate(
        response.head_prefix, response.head_suffix, r.headers_out.copy(), slot
    )


def response_of(r: Request, form: HeadTemplate) -> Response:
    """Return a response with the head of others."""
    before, after, fields, slot = form
    slots: tuple[HeadPiece, ...] = ()
    if slot is not None:
        first, second, most = slot
        left = most - r.connection.served
        r.keepalive_max = left
        fields = fields.copy()
        fields.set("Keep-Alive", KeepAliveValue(int(r.plan.server_core.keep_alive_timeout), left))
        after = b"%b%d%b" % (first, left, second)
        slots = (first, KeepAliveCount(left), second)
    date = origin_date(r)
    r.headers_out = fields
    if r.status in HEADER_ONLY and not r.plan.dialect.wire_22:
        r.content_type = None  # as `build_response` does
    return Response(r, before, after, r.body, close=False, slots=slots, date=date)
