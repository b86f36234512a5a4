"""Failing requests: ErrorDocument and the canned pages (httpd's ap_die and ap_send_error_response)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import is_alphanumeric
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.engine.input.body import body_limit
from whimbrel.engine.output.filter import keep_protocol_filters
from whimbrel.engine.request import Request
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.http1.response import is_status_line
from whimbrel.http.semantics.error_page import ErrorPage, error_page, is_request_independent
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.status import CLOSING_STATUSES, known
from whimbrel.registry.methods import NAMES
from whimbrel.registry.phases import DONE, FORWARD_PROXY, OK

MAX_PAGES: Final = 64  # cached error pages that do not depend on the request
BUFFER: Final = 8000  # a longer page is sent before its length is known
CUSTOM_RESPONSE: Final = "custom-response"  # note: an ErrorDocument for this request (ap_custom_response)


def die(r: Request, status: int, already: int = 200) -> Awaitable[None] | None:
    """Answer *r* with an error or redirect status; return an awaitable if ErrorDocument names a URL.

    *already* is the status of an earlier failure of the same request, 200 for none.
    """
    if status in (OK, DONE):
        return None
    if not 100 <= status < 600:
        r.log("error", f"Invalid response status {status}", code="AH01579")
        status = 500
    if status == 401 and r.proxy == FORWARD_PROXY:
        status = 407
    first = r
    document = None
    recursive = 0
    if already != 200:
        recursive = already  # the first failure is named twice, not that of the ErrorDocument
        while first.prev is not None and first.prev.status != 200:
            first = first.prev
    elif r.plan.core.error_documents or CUSTOM_RESPONSE in r.notes:
        document = error_document(r, status)
    r.status = status
    if document is not None and not document.startswith('"'):
        return _redirected(r, first, document)
    send_error(first, recursive)
    return None


async def died(r: Request, status: int, already: int = 200) -> None:
    """Run `die` to its end."""
    waiting = die(r, status, already)
    if waiting is not None:
        await waiting


async def _redirected(r: Request, first: Request, document: str) -> None:
    """Answer with an ErrorDocument that is a URL."""
    if is_url(document):
        r.status = 302
        r.headers_out.set("Location", document)
        send_error(first, 0)
        return
    if not document.startswith("/"):
        r.log("error", f"Invalid error redirection directive: {document}", code="AH01580")
        send_error(first, 500)
        return
    r.no_local_copy = True
    r.env["REQUEST_METHOD"] = r.method
    notes = r.notes.get("error-notes")
    if notes is not None:
        r.env["ERROR_NOTES"] = notes
    method = r.method
    number = r.method_number
    r.method = "GET"
    r.method_number = 0
    await r.engine.internal_redirect(document, r)
    r.method = method
    r.method_number = number


def is_url(text: str) -> bool:
    """Return True if *text* begins with a scheme and a colon (ap_is_url)."""
    scheme, colon, _ = text.partition(":")
    return (
        bool(colon)
        and bool(scheme)
        and is_alphanumeric(scheme.replace("+", "").replace("-", "").replace(".", ""))
    )


def error_document(r: Request, status: int) -> str | None:
    """The ErrorDocument for *status*: a URL, or text after a double quote; None: the canned page."""
    own = r.notes.get(CUSTOM_RESPONSE)
    if own is not None:
        return own
    is_known = known(status, version22=r.plan.dialect.wire_22)
    document = r.dir_config(CoreDirConfig).error_documents.get(status if is_known else 500)
    if document is None:
        return None
    text: str | None = document.text(r) if hasattr(document, "text") else document
    return text


def is_redirected(r: Request, status: int) -> bool:
    """Return True if the page for *status* is that of a path on this server: the request's body is left to
    it, which 2.2 discards before.
    """
    if r.plan.dialect.wire_22 or not (r.plan.core.error_documents or CUSTOM_RESPONSE in r.notes):
        return False
    document = error_document(r, status)
    return document is not None and document.startswith("/")


async def body_failure(r: Request, status: int) -> BodyError | None:
    """Read the rest of the request's body before the page for *status* is built, if the connection persists
    (ap_discard_request_body).

    Return the error of a body that cannot be read or is too large; its status replaces *status*.
    """
    body = r.body_in
    if r.close or status in CLOSING_STATUSES or r.connection.is_http2:
        return None
    body.limit = body_limit(r)
    try:
        if r.head is not None and r.head.expect_continue:
            body.check_announced()  # the client awaits 100 Continue, which is not sent
        elif not body.ended or body.buffered or body.failure is not None:
            await body.discard()
    except BodyError as problem:
        return problem
    return None


def send_error(r: Request, recursive: int) -> None:
    """Begin the response anew with err_headers_out and the text of an ErrorDocument or the canned page
    (ap_send_error_response).

    *recursive* is the status of the earlier failure that the page names, 0 for none.
    """
    r.is_committed, status = True, r.status
    if r.body:
        r.drop_body()
    if r.output_filters:
        keep_protocol_filters(r)
    location = r.headers_out.get("Location") if r.headers_out.entries() else None
    r.plan.insert_error_filter.run(r)  # its hooks never wait
    if status not in (204, 304):
        _error_body(r, status, location, recursive)


def _error_body(r: Request, status: int, location: str | None, recursive: int) -> None:
    """Set fields and body of the page for *status*."""
    if location is None and r.err_headers_out.entries():
        location = r.err_headers_out.get("Location")
    r.headers_out, r.err_headers_out = r.err_headers_out, Headers()
    if 300 <= status < 400 or status == 201:
        if location:
            r.headers_out.set("Location", location)
        else:
            location = ""
    r.content_languages = []
    r.content_encodings = []
    r.mtime = None
    r.content_type = "text/html" if "suppress-error-charset" in r.env else "text/html; charset=iso-8859-1"
    if status in (405, 501):
        r.headers_out.set("Allow", allow_value(r))
    if r.header_only and not r.assbackwards:
        return
    has_documents = r.plan.core.error_documents or CUSTOM_RESPONSE in r.notes
    text = error_document(r, status) if has_documents else None
    page = (
        to_bytes(text[1:])
        if text is not None and text.startswith('"')
        else canned_page(r, status, location or "", recursive)
    )
    r.body.append(page)
    r.chunked = r.chunked or len(page) > BUFFER


def allow_value(r: Request) -> str:
    """The Allow field: the methods that a handler named, TRACE unless it is off (make_allow)."""
    number = r.engine.methods.number
    trace = r.server_conf(CoreServerConfig).trace_enable
    names = [n for n in r.engine.methods.known() if n not in NAMES or r.allowed & (1 << number(n))]
    names = [n for n in names if r.allowed & (1 << number(n))]
    out = []
    for name in names:
        out.append(name)
        if name == "GET":
            out.append("HEAD")
    if trace and "TRACE" not in out:
        out.append("TRACE")
    elif not trace and "TRACE" in out:
        out.remove("TRACE")
    return ",".join(out)


def canned_page(r: Request, status: int, location: str, recursive: int) -> bytes:
    """Return httpd's own page for *status*."""
    old = r.plan.dialect.wire_22
    notes = r.notes.get("error-notes", "")
    tail = r.engine.signature(r) if r.plan.core.server_signature else ""
    line = r.status_line or ""
    if line and not old and not is_status_line(line, status):
        line = ""  # of another status
    key = (status, line, notes, recursive, tail)
    pages = r.engine.error_pages if is_request_independent(status, version22=old) else None
    cached = pages.get(key) if pages is not None else None
    if cached is not None:
        return cached
    page = ErrorPage(
        status=status,
        line=line,
        method=r.method,
        uri=r.uri,
        location=location,
        notes=notes,
        verbose=r.notes.get("verbose-error-to") == "*",
        variants=r.notes.get("variant-list", ""),
        expect=r.headers_in.get_list("Expect"),
        additional=recursive,
        admin=r.server.admin,
        signature=tail,
    )
    page_bytes = to_bytes(error_page(page, version22=old, doctype=r.plan.dialect.error_page_doctype))
    if pages is not None:
        pages[key] = page_bytes
    return page_bytes
