"""Cache of response heads: responses of the common form, finished without waiting.

The head of such a response depends on the settings, on status, type and length, on its fields, and on the
persistence that the client requests. These are the key; a Keep-Alive count has a slot.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from whimbrel.engine.body import Part, is_complete, size_of
from whimbrel.engine.cache.entry import keepalive_slot
from whimbrel.engine.output.filter import protocol_filters
from whimbrel.engine.output.headers import (
    FRAMING_FIELDS,
    HEADER_ONLY,
    HTTP_1_1,
    RANGES,
    build_response,
    is_good,
)
from whimbrel.engine.pipeline.error import die_sync
from whimbrel.engine.request import Request
from whimbrel.engine.response import Framing, Response
from whimbrel.http.semantics.error_page import is_request_independent
from whimbrel.http.semantics.headers import Headers

# bound of the cache; heads beyond MAX_TEMPLATE bytes, error page included, are not cached
MAX_TEMPLATES: Final = 512
MAX_TEMPLATE: Final = 4096
# Variables that decide about the form of a response.
FRAMING_ENV: Final = frozenset(
    ("force-no-vary", "downgrade-1.0", "force-response-1.0", "nokeepalive", "suppress-error-charset")
)
STATUSES_WITH_ALLOW: Final = frozenset((405, 501))  # whose head names methods


class HeadTemplate(NamedTuple):
    """The head of a response around the value of Date, and its *fields*, which are never changed.

    *slot*: *after* in two pieces around the Keep-Alive count, and the count's start; None without a count.
    *body* is that of an error page.
    """

    before: bytes
    after: bytes
    fields: Headers
    slot: tuple[bytes, bytes, int] | None
    body: bytes


def finalize_sync(r: Request) -> Response | None:
    """`finalize` for a request and a response of the common form; None, with nothing done, for all others."""
    asks = _asks(r)
    if (
        asks is None
        or r.output_filters
        or r.err_headers_out.entries()
        or r.content_encodings
        or r.content_languages
        or not _common(r)
    ):
        return None
    length, engine = 0, r.engine
    for part in r.body:
        length += size_of(part)
    pairs = r.headers_out.entries().values()
    key = (r.plan, r.status, r.content_type, length, asks, *pairs)
    form = engine.head_templates.get(key)
    if form is not None:
        return _of(r, form, r.body)
    good = engine.validated_fields
    for pair in pairs:
        if pair not in good and not is_good(r, pair):
            return None
    response = build_response(r, plain=not asks)
    _keep(r, key, response)
    return response


def refuse_sync(r: Request, status: int) -> Response | None:
    """`die_sync` with `finalize_sync` for a page that does not depend on the request; None, with nothing
    done, for all others.
    """
    if r.headers_out.entries() or r.err_headers_out.entries() or "error-notes" in r.notes:
        return None
    if r.output_filters and protocol_filters(r):
        return None
    asks = _asks(r)
    if asks is None or not _common(r):
        return None
    plan, engine = r.plan, r.engine
    key = (plan, status, asks, engine.signature(r) if plan.core.server_signature else "")
    form = engine.head_templates.get(key)
    if form is None:
        if not _is_alike(r, status) or not die_sync(r, status):
            return None
        response = finalize_sync(r)
        if response is not None and not r.chunked:
            page = r.body[0] if len(r.body) == 1 else b""
            if isinstance(page, bytes):
                _keep(r, key, response, page)
        return response
    r.status, r.is_committed, r.content_type = status, True, "text/html; charset=iso-8859-1"
    if r.output_filters:
        r.output_filters.clear()
    if r.content_languages or r.content_encodings:
        r.content_languages, r.content_encodings = [], []
    r.mtime = None
    r.body = [form.body]
    return _of(r, form, r.body)


def _is_alike(r: Request, status: int) -> bool:
    """Return True if the page for *status* does not depend on the request, and no module changes it."""
    plan = r.plan
    return (
        400 <= status < 600
        and status not in STATUSES_WITH_ALLOW
        and is_request_independent(status, version22=plan.dialect.wire_22)
        and not plan.core.error_documents
        and plan.insert_error_filter.constant is not None
    )


def _asks(r: Request) -> bool | None:
    """Return True if the client requests a persistent connection, False if it does not; None if other framing
    fields are present.
    """
    fields = r.headers_in
    if fields.has_none(FRAMING_FIELDS):
        return False
    entries = fields.entries()
    if "connection" not in entries or not RANGES.isdisjoint(entries):
        return None
    return True if entries["connection"][1].lower() == "keep-alive" and fields.is_unique else None


def _common(r: Request) -> bool:
    """Return True if nothing but the fields of the response decides about its head."""
    connection, env = r.connection, r.env
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
        )
        and r.status_line is None
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


def _keep(r: Request, key: tuple[Any, ...], response: Response, page: bytes = b"") -> None:
    """Store the head of a response, and the error *page*."""
    if response.framing is not Framing.LENGTH or response.close:
        return
    slot, forms = keepalive_slot(r, response.head_suffix), r.engine.head_templates
    if slot is None and r.keepalive_max:
        return
    if len(response.head_suffix) + len(page) > MAX_TEMPLATE:
        return
    forms[key] = HeadTemplate(response.head_prefix, response.head_suffix, r.headers_out.copy(), slot, page)


def _of(r: Request, form: HeadTemplate, body: list[Part]) -> Response:
    """Return a response with the head of others."""
    before, after, fields, slot, _page = form
    if slot is not None:
        first, second, most = slot
        left = r.keepalive_max = most - r.connection.served
        after, fields = b"%b%d%b" % (first, left, second), fields.copy()
        fields.set("Keep-Alive", f"timeout={int(r.plan.server_core.keep_alive_timeout)}, max={left}")
    r.headers_out = fields
    return Response(r, before, after, body, close=False)
