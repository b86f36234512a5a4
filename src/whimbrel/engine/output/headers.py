"""From what a handler left to the response on the wire: httpd's content length, byte range and header
filters.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower, split, strip
from whimbrel.engine.body import Aborted, FileSegment, Source, is_complete, size_of
from whimbrel.engine.output.byteranges import UNSATISFIABLE, apply_ranges
from whimbrel.engine.output.field_slots import HeadPiece, KeepAliveValue, LengthValue, head_pieces, joined
from whimbrel.engine.output.filter import FilterError
from whimbrel.engine.output.filters import run_output_filters
from whimbrel.engine.output.head_cache import (
    FRAMING_FIELDS,
    HEADER_ONLY,
    RANGES,
    HeadKey,
    head_key,
    origin_date,
    response_of,
    store_head,
)
from whimbrel.engine.output.media_type import content_type
from whimbrel.engine.pipeline.error import died
from whimbrel.engine.redirect_chain import first_request
from whimbrel.engine.request import Request
from whimbrel.engine.response import Framing, Response
from whimbrel.http.http1.response import invalid_field, is_status_line
from whimbrel.http.semantics.headers import Headers, Pair
from whimbrel.http.semantics.status import CLOSING_STATUSES, status_line
from whimbrel.http.syntax.fields import has_token
from whimbrel.http.syntax.head import is_chunked

MAX_VALIDATED: Final = 2048  # bounds: response fields that passed validation, and the length of one
MAX_VALIDATED_VALUE: Final = 256
HTTP_1_0 = (1, 0)
# The fields that a response without a body loses; in 2.4 type, codings and languages of r.content_... alone.
BODY_FIELDS: Final = ("Transfer-Encoding", "Content-Length")
BODY_FIELDS_22: Final = (*BODY_FIELDS, "Content-Type", "Content-Encoding", "Content-Language")
# The fields that a 304 of 2.2 has, lower case.
SENT_WITH_304 = frozenset(
    (
        "connection",
        "keep-alive",
        "etag",
        "content-location",
        "expires",
        "cache-control",
        "vary",
        "warning",
        "www-authenticate",
        "proxy-authenticate",
        "set-cookie",
        "set-cookie2",
    )
)


async def finalize(r: Request) -> Response:
    """Return the response to send for a request whose handler, or whose error, is done."""
    always = r.err_headers_out
    try:
        if r.output_filters:
            always = always.copy()
            await run_output_filters(r)
            if r.next is not None and not r.is_committed:  # a filter has redirected the request
                r = final_request(r)
                always = r.err_headers_out.copy()
                await run_output_filters(r)
        key = head_key(r)
        form = None if key is None else r.engine.head_templates.get(key)
        if form is not None:
            response = response_of(r, form)
        elif _has_bad_field(r):
            response = await _refused(r)
        else:
            response = await _built(r, key, always)
    except Aborted as failure:
        return await _failed(r, failure)
    if r.output_filters:
        sent = response.request
        await run_output_filters(sent, after_head=True)
        response.parts = sent.body
    return response


async def _built(r: Request, key: HeadKey | None, always: Headers) -> Response:
    """Return a response whose head is not cached; *always* are the err_headers_out before the filters."""
    plain = r.headers_in.has_none(FRAMING_FIELDS)
    if not plain and _is_ranged(r):
        status = apply_ranges(r)
        if status == UNSATISFIABLE:
            r.err_headers_out = always  # the filters run again, for the page
            closes = not r.plan.dialect.wire_22 and _without_any_range(r)
            r.drop_body()
            return build_response(await _error_page(r, status), measured=False, refused=closes)
    failure = r.body_in.failure
    refused = failure is not None and failure.endless and r.body_in.failure_reported
    response = build_response(r, measured=not refused, refused=refused, plain=plain)
    if key is not None:
        store_head(r, key, response)
    return response


def _without_any_range(r: Request) -> bool:
    """Do what the header filter of 2.4 has done before it reads that no range is satisfiable; return True if
    the connection ends.

    It has merged the two tables of fields, which the page begins with, and counted the request.
    """
    closes, _ = keep_alive(r, bodiless=False)
    r.err_headers_out = Headers()
    r.keepalive_max = 0
    if not closes and not r.connection.is_http2:
        r.connection.served += 1
    r.set_uncacheable()
    return closes


def _is_ranged(r: Request) -> bool:
    """Return True if the request is for ranges of a response that has them."""
    ranged = not RANGES.isdisjoint(r.headers_in.entries())
    return ranged and r.status == 200 and not r.chunked and is_complete(r.body)


def _has_bad_field(r: Request) -> bool:
    """Return True if a field must not be sent; it is logged."""
    good = r.engine.validated_fields
    for entries in (r.headers_out.entries(), r.err_headers_out.entries()):
        if entries:
            for pair in entries.values():
                if pair not in good and _is_bad(r, pair):
                    return True
    return False


def is_good(r: Request, pair: Pair) -> bool:
    """Return True if a field is in order, so short that this is cached, and judged strictly.

    Transfer-Encoding is not: see `_is_miscoded`.
    """
    good = r.engine.validated_fields
    if (
        not r.plan.server_core.strict_http
        or pair[0].lower() == "transfer-encoding"
        or len(pair[1]) > MAX_VALIDATED_VALUE
        or invalid_field((pair,), strict=True) is not None
    ):
        return False
    if len(good) >= MAX_VALIDATED:
        good.clear()
    good.add(pair)
    return True


def _is_bad(r: Request, pair: Pair) -> bool:
    if is_good(r, pair):
        return False
    if not r.connection.is_http2 and pair[0].lower() == "transfer-encoding" and _is_miscoded(r, pair[1]):
        return True
    bad = invalid_field((pair,), strict=r.plan.server_core.strict_http or r.connection.is_http2)
    if bad is not None and not r.connection.is_http2:
        r.log("error", bad[1], code=bad[0], module="http")
    return bad is not None


def _is_miscoded(r: Request, codings: str) -> bool:
    """Return True if 2.4 refuses to send *codings*: chunked is not the last one, and will not be added."""
    if r.plan.dialect.wire_22 or r.status in HEADER_ONLY or is_chunked(codings):
        return False
    return r.proto < (1, 1) or (is_complete(r.body) and not r.chunked)


async def _error_page(r: Request, status: int, already: int = 200) -> Request:
    """Return the request whose response, the page for *status*, replaces that of *r*."""
    await died(r, status, already)
    r = final_request(r)
    await run_output_filters(r)
    return r


async def _failed(r: Request, problem: Aborted) -> Response:
    """Return the error page in place of a response that an output filter or its input could not make.

    The page has no body if its own filters fail too.
    """
    first = first_request(r)
    while True:
        failure = problem if isinstance(problem, FilterError) else FilterError()
        r.drop_body()
        r.set_uncacheable()  # each response must log the failure
        if r.is_committed:
            break
        if not failure.is_bucket and not r.plan.dialect.wire_22:
            r.log("debug", "Response from AP_FILTER_ERROR", code="AH02831", module="http")
        r.chunked = False
        r.status_line = _title_22(r)
        await died(r, failure.status, r.status)
        r = final_request(first)
        try:
            await run_output_filters(r)
            break
        except Aborted as further:
            problem = further
    return build_response(r, measured=not failure.is_bucket, refused=failure.is_bucket and not _titles_22(r))


def _titles_22(r: Request) -> bool:
    return bool(r.proxy) and r.plan.dialect.wire_22


def _title_22(r: Request) -> str | None:
    """Return the status line of a proxied answer, which 2.2 makes the title of the page in its place."""
    if not _titles_22(r):
        return None
    return r.status_line or status_line(r.status, version22=True)


async def _refused(r: Request) -> Response:
    """Return the error page in place of a response with an invalid field; an empty response if the page has
    one too. HTTP/2 resets the stream instead.

    The connection ends with either. The page names the status that the response would have had. The bodies of
    the same request that are not sent count as the response's in the access log.
    """
    r.set_uncacheable()
    if r.connection.is_http2:
        response = build_response(r)
        response.is_malformed = True
        return response
    if not r.headers_in.has_none(RANGES) and _is_ranged(r):
        apply_ranges(r)
    if _titles_22(r):
        r.status_line = _title_22(r)
    lost = _emptied(r)
    refused = r
    r = await _error_page(r, 500, r.status)
    if r is not refused:
        lost = 0
    is_bare = _has_bad_field(r)
    if is_bare:
        lost += _emptied(r)
        r.status = 500
        r.content_type = None
        r.content_encodings = []
        r.content_languages = []
    r.bytes_sent = lost
    response = build_response(r, measured=is_bare, bare=is_bare, refused=not is_bare)
    r.close = response.close
    return response


def _emptied(r: Request) -> int:
    """Remove body and fields; return the size of the body without its sources."""
    lost = sum([size_of(part) for part in r.body if not isinstance(part, Source)])
    r.drop_body()
    r.headers_out.clear()
    r.err_headers_out.clear()
    return lost


def final_request(r: Request) -> Request:
    """Return the request whose response is sent: *r*, or the target of its redirects."""
    while r.next is not None and not r.is_committed:
        r = r.next
    return r


def build_response(
    r: Request, *, measured: bool = True, bare: bool = False, refused: bool = False, plain: bool = False
) -> Response:
    """Return the response.

    *measured*: add Content-Length to a complete body; httpd does not for a 416, nor after an unreadable body.
    *bare*: 2.4 omits the Connection field of an empty response; *refused*: the request's body or the
    response's fields were refused; *plain*: the request has none of `FRAMING_FIELDS`.
    """
    if r.assbackwards:
        return Response(r, b"", b"", r.body, close=True, framing=Framing.CLOSE)
    bodiless = r.status in HEADER_ONLY
    if measured:
        _content_length(r, bodiless)
    if r.err_headers_out.entries():
        r.headers_out = r.headers_out.overlay(r.err_headers_out)
    env = r.env
    if "no-etag" in r.notes:
        r.headers_out.unset("ETag")
    if "force-no-vary" in env:
        forgo_vary(r)
    elif "vary" in r.headers_out.entries():
        _vary(r)
    if "downgrade-1.0" in env and r.proto > HTTP_1_0:
        r.proto = HTTP_1_0
    if is_complete(r.body) and "transfer-encoding" in r.headers_out.entries() and not r.plan.dialect.wire_22:
        if not r.header_only:  # set by a directive: the framing adds it, or ends the connection
            r.headers_out.unset("Transfer-Encoding")
        r.headers_out.unset("Content-Length")
    close, framing = keep_alive(r, bodiless, refused=refused, plain=plain)
    if bare and not r.plan.dialect.wire_22:
        r.headers_out.unset("Connection")
    _entity_fields(r, bodiless)
    if bare:
        r.headers_out.set("Content-Length", "0")
    if r.header_only or bodiless:
        r.drop_body()
    date = origin_date(r)
    before, pieces = _head(r)
    after, slots = (pieces[0], ()) if len(pieces) == 1 else (joined(pieces), pieces)
    assert isinstance(after, bytes)
    return Response(r, before, after, r.body, close=close, framing=framing, slots=slots, date=date)


def _content_length(r: Request, bodiless: bool) -> None:
    if r.chunked or bodiless:
        return
    length = 0
    for part in r.body:
        if isinstance(part, Source):
            return
        length += part.length if isinstance(part, FileSegment) else len(part)
    if not (r.header_only and length == 0):
        known = r.headers_out.entries().get("content-length")
        text = str(length)
        if r.body_factory is not None:
            r.headers_out.set("Content-Length", LengthValue(text))
        elif known is None or known[1] != text:
            r.headers_out.set("Content-Length", text)


def keep_alive(
    r: Request, bodiless: bool, *, refused: bool = False, plain: bool = False
) -> tuple[bool, Framing]:
    """Return True if the connection ends after this response, and the framing of its body (ap_set_keepalive);
    set Connection and Keep-Alive.

    *refused*: see `build_response`; the connection ends; *plain*: the request has no Connection
    field.
    """
    server = r.plan.server_core
    out = r.headers_out
    requested = "" if plain else r.headers_in.get_list("Connection") or ""
    close_requested = bool(requested) and has_token(requested, "close")
    entries = out.entries()
    wimpy = "connection" in entries and has_token(out.get_list("Connection"), "close")
    framing = Framing.LENGTH
    defined = r.header_only or bodiless or "content-length" in entries
    ends = (
        refused
        or (r.expecting_100 and _waits(r))
        or (r.close and _announces_protocols(r))
        or (r.prev is not None and _is_closing_document(r))
        or (r.proto == HTTP_1_0 and "force-response-1.0" in r.env)
    )
    unchunked = close_requested and r.plan.dialect.ranges_joined and not r.chunked and is_complete(r.body)
    if not defined and not ends and r.proto >= (1, 1) and not unchunked:
        defined = True
        framing = Framing.CHUNKED
    left = server.max_keep_alive - r.connection.served
    asks = bool(requested) and has_token(requested, "keep-alive")
    stays = (
        defined
        and not ends
        and server.keep_alive
        and server.keep_alive_timeout > 0
        and (server.max_keep_alive == 0 or left > 0)
        and r.status not in CLOSING_STATUSES
        and not wimpy
        and not close_requested
        and not r.connection.is_draining
        and ("nokeepalive" not in r.env or "Via" in r.headers_in)
        and (asks or r.proto >= (1, 1))
    )
    chunked = framing is Framing.CHUNKED and r.proto >= (1, 1) and "force-response-1.0" not in r.env
    if chunked:
        out.unset("Content-Length")
    elif framing is Framing.CHUNKED:
        framing = Framing.CLOSE
        stays = False
    elif not defined:
        framing = Framing.CLOSE
    if stays:
        if asks:
            seconds = int(server.keep_alive_timeout)
            out.set(
                "Keep-Alive",
                KeepAliveValue(seconds, left) if server.max_keep_alive else f"timeout={seconds}",
            )
            out.merge("Connection", "Keep-Alive")
            r.keepalive_max = left if server.max_keep_alive else 0
    elif not wimpy:
        out.merge("Connection", "close")
    if chunked:
        out.merge("Transfer-Encoding", "chunked")  # httpd's header filter adds it last
    return not stays or r.close, framing


def _announces_protocols(r: Request) -> bool:
    """Return True if the response announces the end of the connection: not for a head refused with a status
    after which httpd would go on.
    """
    head = first_request(r).head
    error = head.error if head is not None else None
    return error is None or error.status in CLOSING_STATUSES


def _is_closing_document(r: Request) -> bool:
    """Return True if *r* is the ErrorDocument of a status that ends the connection (ap_die marks the
    connection before the document is requested, so a document without length is not chunked).
    """
    while r.prev is not None:
        r = r.prev
        if r.status in CLOSING_STATUSES:
            return True
    return False


def _waits(r: Request) -> bool:
    """Return True if the client still waits for 100 Continue before it sends its body; the caller that sends
    that clears the head's mark.
    """
    while r.head is None and r.prev is not None:
        r = r.prev
    return r.head is None or r.head.expect_continue


def forgo_vary(r: Request) -> None:
    """Remove Vary for a client that cannot read it (force-no-vary), which httpd takes for one of HTTP/1.0."""
    r.headers_out.unset("Vary")
    r.env["force-response-1.0"] = "1"
    r.proto = HTTP_1_0


def _vary(r: Request) -> None:
    """Merge the Vary fields into one that names each field once."""
    names: dict[str, str] = {}
    for value in r.headers_out.get_all("Vary"):
        for name in split(value.replace(",", " ")):
            names.setdefault(name.lower(), name)
    if names:
        r.headers_out.set("Vary", ",".join(names.values()))


def _entity_fields(r: Request, bodiless: bool) -> None:
    out = r.headers_out
    if r.no_cache and "Expires" not in out:
        out.set("Expires", r.engine.http_date(r.time))
        r.set_uncacheable()
    if bodiless:
        for name in BODY_FIELDS_22 if r.plan.dialect.wire_22 else BODY_FIELDS:
            if name != "Content-Type" or r.content_type is not None:
                out.unset(name)
        if r.status == 204 and r.plan.dialect.wire_22 and (kind := content_type(r)):
            out.set("Content-Type", kind)
        if not r.plan.dialect.wire_22:
            r.content_type = None  # as the access log shows
        return
    kind = content_type(r)
    if kind:
        out.set("Content-Type", kind)
    if r.content_encodings:
        out.set("Content-Encoding", ", ".join(r.content_encodings))
    if r.content_languages:
        out.set("Content-Language", ",".join(_languages(r)))
    if r.header_only and out.get("Content-Length") == "0":
        out.unset("Content-Length")


def _languages(r: Request) -> list[str]:
    """Return the languages of the response, with those that a field set before names besides them."""
    languages = r.content_languages
    if "content-language" in r.headers_out.entries():
        known = {lower(language) for language in languages}
        named = (strip(word) for word in (r.headers_out.get_list("Content-Language") or "").split(","))
        languages = [*languages, *(lower(word) for word in named if word and lower(word) not in known)]
    return languages


def _head(r: Request) -> tuple[bytes, tuple[HeadPiece, ...]]:
    """Return the head before the value of Date, and the pieces of what follows it."""
    version22 = r.plan.dialect.wire_22
    status = r.status
    old = r.proto == HTTP_1_0 and "force-response-1.0" in r.env
    custom_line = r.status_line
    first = r.engine.status_lines.get((status, old)) if custom_line is None else None
    if first is None:
        is_valid = custom_line and is_status_line(custom_line, status)
        line = custom_line if is_valid else status_line(status, version22=version22)
        first = to_bytes(f"{'HTTP/1.0' if old else 'HTTP/1.1'} {line}\r\nDate: ")
        if custom_line is None:
            r.engine.status_lines[status, old] = first
    out = r.headers_out
    entries = out.entries()
    if "date" in entries:
        out.unset("Date")
    server: str | None = r.engine.server_field(r)
    if r.proxy and (version22 or "server" in entries):
        server = out.get("Server")
    if "server" in entries:
        out.unset("Server")
    shown: Collection[Pair] = entries.values()
    if status == 304 and version22:
        shown = [(name, value) for name, value in shown if name.lower() in SENT_WITH_304]
    start = f"\r\nServer: {server}\r\n" if server else "\r\n"
    if r.keepalive_max or r.deps.clock_fields or r.body_factory is not None:
        return first, head_pieces(start, shown)
    lines = "".join([f"{name}: {value}\r\n" for name, value in shown])
    return first, (f"{start}{lines}\r\n".encode("latin-1"),)
