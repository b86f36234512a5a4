"""Requests within a request: internal redirects and sub-requests (httpd's http_request.c and request.c)."""

from __future__ import annotations

from whimbrel.config.core import CoreServer
from whimbrel.http.target import split_url
from whimbrel.http.url import escape_uri
from whimbrel.registry.phases import DECLINED, DONE, OK, POST_READ_REQUEST, Answer
from whimbrel.request.body import Joined, Stream
from whimbrel.request.files import is_folder
from whimbrel.request.process import invoke_handler, process, run_phase
from whimbrel.request.record import Request


def set_target(r: Request, target: str) -> None:
    """Take *target* as the request's URL: path, query, nothing decoded yet (ap_parse_uri)."""
    r.unparsed_uri = target
    if target.startswith("/"):
        path, question, query = target.partition("#")[0].partition("?")
        r.uri, r.args = path, query if question else None
        return
    parts = split_url(target)
    if parts is None:
        r.uri, r.args = "", None
        return
    r.uri, r.args = parts.path or "/", parts.query
    if parts.hostname:
        r.hostname, r.port = parts.hostname.lower(), parts.port if parts.port_text else 0


def _descendant(r: Request) -> Request:
    """A request that shares connection, server, head and file notes with *r*."""
    new = Request(r.engine, r.connection, r.server, r.engine.world.root(r.server), r.headers_in, r.files)
    new.unasked_line, new.method, new.method_number = r.unasked_line, r.method, r.method_number
    new.protocol, new.proto, new.assbackwards = r.protocol, r.proto, r.assbackwards
    new.header_only, new.hostname, new.time = r.header_only, r.hostname, r.time
    new.body_in, new.main, new.log_lines = r.body_in, r.main, r.log_lines
    return new


def redirected(r: Request, target: str) -> Request:
    """The request that *r* becomes by an internal redirect to *target*."""
    new = _descendant(r)
    set_target(new, target)
    new.prev, r.next = r, new
    new.status, new.allowed, new.no_cache, new.no_local_copy = r.status, r.allowed, r.no_cache, r.no_local_copy
    new.err_headers_out, new.vlist_validator = r.err_headers_out, r.vlist_validator
    location = r.headers_out.get("Location")
    if 300 <= new.status < 400 and location is not None:
        new.headers_out.set("Location", location)
    if "redirect-keeps-vary" in r.notes:
        for vary in r.headers_out.get_all("Vary"):
            new.headers_out.merge("Vary", vary)
    new.env = {"REDIRECT_" + name: value for name, value in r.env.items()}
    new.env["REDIRECT_STATUS"] = str(r.status)
    return new


async def internal_redirect(r: Request, target: str) -> Answer:
    """Answer *r* with what *target* answers; the answer's own errors are handled there (ap_internal_redirect)."""
    from whimbrel.request.die import die

    if too_deep(r):
        return await die(r, 500, r.status)
    new = redirected(r, target)
    answer = await run_phase(new, POST_READ_REQUEST)
    if answer in (OK, DECLINED):
        answer = await process(new)
    if answer == OK:
        answer = await invoke_handler(new)
    if answer in (OK, DONE):
        return OK
    return await die(new, answer, new.status)


_LIMIT_HINT = "Use 'LimitInternalRecursion' to increase the limit if necessary. Use 'LogLevel debug' to get a backtrace."


def too_deep(r: Request) -> bool:
    """Whether LimitInternalRecursion forbids one more redirect or sub-request; logged (ap_is_recursion_limit_exceeded)."""
    limits = r.server_conf(CoreServer)
    redirects = subrequests = 0
    top: Request | None = r
    while top is not None:
        if top.prev is not None:
            redirects += 1
            if limits.max_redirects and redirects >= limits.max_redirects:
                what = f"{limits.max_redirects} internal redirects due to probable configuration error."
                r.log("error", f"Request exceeded the limit of {what} {_LIMIT_HINT}", code="AH00124")
                return True
        elif top.main is not None:
            subrequests += 1
            if limits.max_subrequests and subrequests >= limits.max_subrequests:
                log_nested(r)
                return True
        top = top.prev if top.prev is not None else top.main
    return False


def log_nested(r: Request) -> None:
    """The line about a request whose sub-requests are too many."""
    word = "confguration" if r.plan.dialect.reasons_22 else "configuration"  # as 2.2 spells it
    what = f"{r.server_conf(CoreServer).max_subrequests} subrequest nesting levels due to probable {word} error."
    r.log("error", f"Request exceeded the limit of {what} {_LIMIT_HINT}", code="AH00125")


def _child(r: Request, method: str = "GET") -> Request:
    new = _descendant(r)
    new.main, new.prev = r, None
    new.method, new.method_number = method, r.engine.methods.number(method)
    new.header_only = False
    new.env = r.env.copy()
    new.env.pop("PATH_INFO", None)
    new.protocol = "INCLUDED"
    return new


async def _finished(new: Request) -> Request:
    """Run *new* up to its handler; its status tells what came of it: 500 where the request that wants it is itself nested too deep."""
    if new.main is not None and too_deep(new.main):
        new.status = 500
        return new
    answer = await process(new)
    new.status = 200 if answer == OK else answer if answer > 0 else 200
    return new


async def lookup_uri(r: Request, target: str, method: str = "GET", *, with_query: bool = False) -> Request:
    """The sub-request for the URL *target*, relative ones taken from the request's own folder (ap_sub_req_method_uri).

    *with_query*: the request's query stands behind it.
    """
    new = _child(r, method)
    if not target.startswith("/"):
        folder = escape_uri(r.uri.rpartition("/")[0])
        target = f"{folder}/{target}"
    set_target(new, target)
    if with_query and r.unasked_args is not None:
        if "?" in target or "#" in target or target[:1] != "/":
            set_target(new, f"{target}?{r.args}")
        else:
            new.unasked_target, new.unasked_args = f"{target}?{r.unasked_args}", r.unasked_args
    return await _finished(new)


async def lookup_file(r: Request, path: str) -> Request:
    """The sub-request for a file, absolute or in the folder of the request's own file (ap_sub_req_lookup_file)."""
    new = _child(r)
    folder = (r.filename or "/").rpartition("/")[0] + "/"
    new.filename = path if path.startswith("/") else folder + path
    name = new.filename[len(folder) :]
    if name and "/" not in name and new.filename.startswith(folder):
        new.uri = r.uri.rpartition("/")[0] + "/" + name
    else:  # a file that no URL is known for
        new.uri = "INTERNALLY GENERATED file-relative req" if r.plan.dialect.reasons_22 else ""
    return await _finished(new)


async def lookup_entry(r: Request, name: str) -> Request:
    """The sub-request for an entry of the folder that the request's file stands for (ap_sub_req_lookup_dirent)."""
    new = _child(r)
    folder = r.filename or "/"
    new.filename = (folder if folder.endswith("/") else folder.rpartition("/")[0] + "/") + name
    below = r.path_info or ""
    uri = r.uri[:len(r.uri) - len(below)] if below and r.uri.endswith(below) else r.uri
    new.uri = (uri if uri.endswith("/") else uri.rpartition("/")[0] + "/") + name
    if is_folder(r.files.stat(new.filename)):
        new.filename += "/"
        new.uri += "/"
    return await _finished(new)


async def run_sub(sub: Request) -> Answer:
    """Run the handler of a sub-request; its body is added to the request that it belongs to (ap_run_sub_req)."""
    answer = await invoke_handler(sub)
    main, last = sub.main, sub
    while last.next is not None:
        last = last.next
    if answer in (OK, DONE):
        await filtered(last)
    if main is None:
        return answer
    if last.stream is None:
        main.body.extend(last.body)
    else:
        append_stream(main, last.stream)
        main.body.extend(last.body)
    return answer


def append_stream(r: Request, stream: Stream) -> None:
    """Add *stream* behind everything that the body of *r* has."""
    before = [] if r.stream is None else [r.stream]
    r.stream = Joined([*before, *r.body, stream])
    r.body.clear()


async def filtered(r: Request) -> None:
    """Let the output filters of *r* work on its answer, those that wait too."""
    if r.stream is not None and r.body:
        r.stream, r.body = Joined([r.stream, *r.body]), []
    for change in r.output_filters:
        waiting = change(r)
        if waiting is not None:
            await waiting


def fast_redirect(sub: Request, r: Request) -> None:
    """Let *r* become what its sub-request found, without a new run of the phases (ap_internal_fast_redirect)."""
    r.uri, r.unasked_target = sub.uri, sub.unasked_target
    r.filename, r.canonical_filename, r.path_info, r.unasked_args = sub.filename, sub.canonical_filename, sub.path_info, sub.unasked_args
    r.info, r.handler, r.content_type = sub.info, sub.handler, sub.content_type
    r.content_encodings, r.content_languages = sub.content_encodings, sub.content_languages
    r.plan = sub.plan
    r.output_filters = [*sub.output_filters]
    for name, value in sub.headers_out.items():
        r.headers_out.set(name, value)
    for name, value in sub.err_headers_out.items():
        r.err_headers_out.set(name, value)
    r.env.update(dict.items(sub.env))
    r.notes = {**r.notes, **sub.notes}

