"""Requests within a request: internal redirects and sub-requests (httpd's http_request.c and request.c)."""

from __future__ import annotations

from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.deps.files import is_directory
from whimbrel.engine.input.body import Joined, Stream
from whimbrel.engine.pipeline.process import invoke_handler, process, run_phase
from whimbrel.engine.request import Request
from whimbrel.http.syntax.target import split_url
from whimbrel.http.syntax.url import escape_uri
from whimbrel.registry.phases import DECLINED, DONE, OK, POST_READ_REQUEST, HookStatus


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


def _derived(r: Request) -> Request:
    """A request that shares connection, server, head and file notes with *r*."""
    new = Request(r.engine, r.connection, r.server, r.engine.plans.root(r.server), r.headers_in, r.deps)
    new.untracked_line, new.method, new.method_number = r.untracked_line, r.method, r.method_number
    new.protocol, new.proto, new.assbackwards = r.protocol, r.proto, r.assbackwards
    new.header_only, new.hostname, new.time = r.header_only, r.hostname, r.time
    new.body_in, new.main, new.log_lines = r.body_in, r.main, r.log_lines
    return new


def redirected(r: Request, target: str) -> Request:
    """The request that *r* becomes by an internal redirect to *target*."""
    new = _derived(r)
    set_target(new, target)
    new.prev, r.next = r, new
    new.status, new.allowed, new.no_cache, new.no_local_copy = (
        r.status,
        r.allowed,
        r.no_cache,
        r.no_local_copy,
    )
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


async def internal_redirect(r: Request, target: str) -> HookStatus:
    """Answer *r* with what *target* answers; the answer's own errors are handled there (ap_internal_redirect)."""
    from whimbrel.engine.pipeline.error import die

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
    limits = r.server_conf(CoreServerConfig)
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
                log_subrequest_limit(r)
                return True
        top = top.prev if top.prev is not None else top.main
    return False


def log_subrequest_limit(r: Request) -> None:
    """The line about a request whose sub-requests are too many."""
    word = "confguration" if r.plan.dialect.wire_22 else "configuration"  # as 2.2 spells it
    what = f"{r.server_conf(CoreServerConfig).max_subrequests} subrequest nesting levels due to probable {word} error."
    r.log("error", f"Request exceeded the limit of {what} {_LIMIT_HINT}", code="AH00125")


def _subrequest(r: Request, method: str = "GET") -> Request:
    new = _derived(r)
    new.main, new.prev = r, None
    new.method, new.method_number = method, r.engine.methods.number(method)
    new.header_only = False
    new.env = r.env.copy()
    new.env.pop("PATH_INFO", None)
    new.protocol = "INCLUDED"
    return new


async def _prepared(new: Request) -> Request:
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
    new = _subrequest(r, method)
    if not target.startswith("/"):
        directory = escape_uri(r.uri.rpartition("/")[0])
        target = f"{directory}/{target}"
    set_target(new, target)
    if with_query and r.untracked_args is not None:
        if "?" in target or "#" in target or target[:1] != "/":
            set_target(new, f"{target}?{r.args}")
        else:
            new.untracked_target, new.untracked_args = f"{target}?{r.untracked_args}", r.untracked_args
    return await _prepared(new)


async def lookup_file(r: Request, path: str) -> Request:
    """The sub-request for a file, absolute or in the folder of the request's own file (ap_sub_req_lookup_file)."""
    new = _subrequest(r)
    directory = (r.filename or "/").rpartition("/")[0] + "/"
    new.filename = path if path.startswith("/") else directory + path
    name = new.filename[len(directory) :]
    if name and "/" not in name and new.filename.startswith(directory):
        new.uri = r.uri.rpartition("/")[0] + "/" + name
    else:  # a file that no URL is known for
        new.uri = "INTERNALLY GENERATED file-relative req" if r.plan.dialect.wire_22 else ""
    return await _prepared(new)


async def lookup_dirent(r: Request, name: str) -> Request:
    """The sub-request for an entry of the folder that the request's file stands for (ap_sub_req_lookup_dirent)."""
    new = _subrequest(r)
    directory = r.filename or "/"
    new.filename = (directory if directory.endswith("/") else directory.rpartition("/")[0] + "/") + name
    below = r.path_info or ""
    uri = r.uri[: len(r.uri) - len(below)] if below and r.uri.endswith(below) else r.uri
    new.uri = (uri if uri.endswith("/") else uri.rpartition("/")[0] + "/") + name
    if is_directory(r.deps.stat(new.filename)):
        new.filename += "/"
        new.uri += "/"
    return await _prepared(new)


async def run_sub(sub: Request) -> HookStatus:
    """Run the handler of a sub-request; its body is added to the request that it belongs to (ap_run_sub_req)."""
    answer = await invoke_handler(sub)
    main, last = sub.main, sub
    while last.next is not None:
        last = last.next
    if answer in (OK, DONE):
        await run_output_filters(last)
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


async def run_output_filters(r: Request) -> None:
    """Let the output filters of *r* work on its answer, those that wait too."""
    if r.stream is not None and r.body:
        r.stream, r.body = Joined([r.stream, *r.body]), []
    for change in r.output_filters:
        waiting = change(r)
        if waiting is not None:
            await waiting


def fast_redirect(sub: Request, r: Request) -> None:
    """Let *r* become what its sub-request found, without a new run of the phases (ap_internal_fast_redirect)."""
    r.uri, r.untracked_target = sub.uri, sub.untracked_target
    r.filename, r.canonical_filename, r.path_info, r.untracked_args = (
        sub.filename,
        sub.canonical_filename,
        sub.path_info,
        sub.untracked_args,
    )
    r.finfo, r.handler, r.content_type = sub.finfo, sub.handler, sub.content_type
    r.content_encodings, r.content_languages = sub.content_encodings, sub.content_languages
    r.plan = sub.plan
    r.output_filters = [*sub.output_filters]
    for name, value in sub.headers_out.items():
        r.headers_out.set(name, value)
    for name, value in sub.err_headers_out.items():
        r.err_headers_out.set(name, value)
    r.env.update(dict.items(sub.env))
    r.notes = {**r.notes, **sub.notes}
