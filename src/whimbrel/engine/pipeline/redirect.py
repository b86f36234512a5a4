"""Requests within a request: internal redirects and sub-requests (httpd's http_request.c and request.c)."""

from __future__ import annotations

from whimbrel.engine.lookahead import is_too_deep
from whimbrel.engine.output.filter import protocol_filters
from whimbrel.engine.pipeline.error import died
from whimbrel.engine.pipeline.handler import invoke_handler
from whimbrel.engine.pipeline.hooks import run_phase
from whimbrel.engine.pipeline.process import process
from whimbrel.engine.request import Request
from whimbrel.http.syntax.target import split_url
from whimbrel.registry.phases import DECLINED, DONE, OK, POST_READ_REQUEST, QUICK_HANDLER, HookStatus


def set_target(r: Request, target: str) -> None:
    """Set *target* as the request's URL: path and query, not yet decoded (ap_parse_uri)."""
    r.unparsed_uri = target
    if target.startswith("/"):
        path, question, query = target.partition("#")[0].partition("?")
        r.uri = path
        r.args = query if question else None
        return
    parts = split_url(target)
    if parts is None:
        r.uri = ""
        r.args = None
        return
    r.uri = parts.path or "/"
    r.args = parts.query
    if parts.hostname:
        r.hostname = parts.hostname.lower()
        r.port = parts.port if parts.port_text else None


def derive_request(r: Request) -> Request:
    """Return a request that shares connection, server, head and file notes with *r*."""
    new = Request(r.engine, r.connection, r.server, r.engine.plans.root(r.server), r.headers_in, r.deps)
    new.untracked_line = r.untracked_line
    new.method = r.method
    new.method_number = r.method_number
    new.protocol = r.protocol
    new.proto = r.proto
    new.assbackwards = r.assbackwards
    new.header_only = r.header_only
    new.hostname = r.hostname
    new.time = r.time
    new.body_in = r.body_in
    new.main = r.main
    new.log_lines = r.log_lines
    return new


def redirected(r: Request, target: str) -> Request:
    """Return the request that *r* becomes by an internal redirect to *target*."""
    new = derive_request(r)
    new.port = r.port
    set_target(new, target)
    new.prev, r.next, new.expecting_100 = r, new, r.expecting_100 and not r.body_in.count
    new.status = r.status
    new.allowed = r.allowed
    new.no_cache = r.no_cache
    new.no_local_copy = r.no_local_copy
    new.err_headers_out = r.err_headers_out
    new.vlist_validator = r.vlist_validator
    new.close = r.close
    if r.output_filters:
        new.output_filters = protocol_filters(r)
    location = r.headers_out.get("Location")
    if 300 <= new.status < 400 and location is not None:
        new.headers_out.set("Location", location)
    if "redirect-keeps-vary" in r.notes:
        for vary in r.headers_out.get_all("Vary"):
            new.headers_out.merge("Vary", vary)
    hidden = {"REDIRECT_" + name: entry.value for name, entry in (r.hidden_env or {}).items()}
    new.env = {**{"REDIRECT_" + name: value for name, value in r.env.items()}, **hidden}
    new.env["REDIRECT_STATUS"] = str(r.status)
    return new


async def internal_redirect(r: Request, target: str) -> HookStatus:
    """Answer *r* with the response of *target*, whose errors are handled here (ap_internal_redirect)."""
    if is_too_deep(r):
        await died(r, 500, r.status)
        return OK
    new = redirected(r, target)
    status = await run_phase(new, POST_READ_REQUEST)
    if status in (OK, DECLINED):
        status = await run_phase(new, QUICK_HANDLER)
        if status == DECLINED:
            status = await process(new)
            if status == OK:
                status = await invoke_handler(new)
    if status in (OK, DONE):
        return OK
    await died(new, status, new.status)
    return OK
