"""Sub-requests: ap_sub_req_lookup_uri and its like, ap_run_sub_req, and the fast redirect to one (httpd's
request.c).
"""

from __future__ import annotations

from typing import Final

from whimbrel.engine.deps.files import is_directory
from whimbrel.engine.env import UNIQUE_ID_NAME, LazyEnv, append
from whimbrel.engine.lookahead import is_too_deep
from whimbrel.engine.output.filter import FilterError, FilterType, add_output_filter, protocol_filters
from whimbrel.engine.output.filters import run_output_filters
from whimbrel.engine.pipeline.handler import invoke_handler
from whimbrel.engine.pipeline.process import process
from whimbrel.engine.pipeline.redirect import derive_request, set_target
from whimbrel.engine.request import Request
from whimbrel.engine.walk.merges import Merges, adopt
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.tracked_headers import RemainingHeaders, TrackedHeaders
from whimbrel.http.syntax.url import escape_uri
from whimbrel.registry.phases import DONE, OK, HookStatus

_OF_BODIES: Final = (
    *("Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-MD5"),
    *("Content-Range", "Content-Type", "Expires", "Last-Modified", "Transfer-Encoding"),
)
"""Fields about the request's body, which a sub-request has not (strip_headers_request_body)."""


def _fields_without_body(r: Request) -> Headers:
    """Return the fields of a sub-request of *r*: in 2.4 without those about the body, unless mod_request
    keeps it.
    """
    fields = r.headers_in
    if r.plan.dialect.subrequests_share_fields:
        return fields
    present = fields.entries()
    has_body = "content-length" in present or "transfer-encoding" in present
    if not has_body or getattr(r.body_in, "kept_body", False):
        return fields
    if isinstance(fields, TrackedHeaders):
        return RemainingHeaders(fields, _OF_BODIES)
    remaining = fields.copy()
    for name in _OF_BODIES:
        remaining.unset(name)
    return remaining


def _subrequest(r: Request, method: str = "GET") -> Request:
    new = derive_request(r)
    new.headers_in = _fields_without_body(r)
    new.main = r
    new.prev = None
    new.method_number = r.engine.methods.number(method)
    new.method = method
    new.header_only = False
    new.no_local_copy = True
    new.env = r.env.copy()
    new.env.pop("PATH_INFO", None)
    new.hidden_env = r.hidden_env
    new.protocol = "INCLUDED"
    return new


async def _process(new: Request) -> Request:
    """Run *new* up to its handler and set its status; 500 if the sub-requests are nested too deep."""
    if new.main is not None and is_too_deep(new.main):
        new.status = 500
        return new
    status = await process(new)
    if status == OK:
        new.status = 200
    elif status > 0:
        new.status = status
    else:
        new.status = 200
    return new


async def lookup_uri(r: Request, target: str, method: str = "GET", *, with_query: bool = False) -> Request:
    """Return the sub-request for the URL *target*; a relative one starts from the request's directory
    (ap_sub_req_method_uri).

    *with_query*: append the request's query.
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
            new.untracked_target = f"{target}?{r.untracked_args}"
            new.untracked_args = r.untracked_args
    return await _process(new)


async def lookup_file(r: Request, path: str) -> Request:
    """Return the sub-request for a file, absolute or relative to the request's (ap_sub_req_lookup_file)."""
    new = _subrequest(r)
    new.merges = Merges(by_file=True)
    directory = (r.filename or "/").rpartition("/")[0] + "/"
    new.filename = path if path.startswith("/") else directory + path
    name = new.filename[len(directory) :]
    if name and "/" not in name and new.filename.startswith(directory):
        new.uri = r.uri.rpartition("/")[0] + "/" + name
    else:  # a file that no URL is known for
        new.uri = "INTERNALLY GENERATED file-relative req" if r.plan.dialect.wire_22 else ""
    return await _process(new)


async def lookup_dirent(r: Request, name: str, *, with_query: bool = False) -> Request:
    """Return the sub-request for an entry of the directory that the request's file stands for
    (ap_sub_req_lookup_dirent).

    *with_query*: it has the request's query.
    """
    new = _subrequest(r)
    if with_query:
        new.untracked_args = r.untracked_args
    new.merges = Merges(by_file=True)
    directory = r.filename or "/"
    new.filename = (directory if directory.endswith("/") else directory.rpartition("/")[0] + "/") + name
    below = r.path_info or ""
    uri = r.uri[: len(r.uri) - len(below)] if below and r.uri.endswith(below) else r.uri
    new.uri = (uri if uri.endswith("/") else uri.rpartition("/")[0] + "/") + name
    if is_directory(r.deps.stat(new.filename)):
        new.filename += "/"
        new.uri += "/"
    return await _process(new)


async def run_sub(sub: Request) -> HookStatus:
    """Run the handler of a sub-request; its body is added to the request that it belongs to
    (ap_run_sub_req).

    The output filters run at an error, too: with an empty body, as httpd passes them the end of the stream.
    """
    status = await invoke_handler(sub)
    main = sub.main
    last = sub
    while last.next is not None:
        last = last.next
    has_failed = status not in (OK, DONE)
    if has_failed:
        last.drop_body()
    try:
        await run_output_filters(last)
    except FilterError as failure:
        last.drop_body()
        return status if has_failed else failure.status
    if main is None:
        return status
    main.body.extend(last.body)
    return status


def fast_redirect(sub: Request, r: Request, *, keeps_filters: bool = False) -> None:
    """Copy the results of a sub-request to *r*, without another run of the phases
    (ap_internal_fast_redirect).

    *keeps_filters*: the output filters of *r* stay, as where httpd's module makes the sub-request with them
    as its next filters; otherwise only those of the protocol stay.
    """
    adopt(sub, r)
    r.uri = sub.uri
    r.untracked_target = sub.untracked_target
    r.filename = sub.filename
    r.canonical_filename = sub.canonical_filename
    r.path_info = sub.path_info
    r.untracked_args = sub.untracked_args
    r.proxy = sub.proxy
    r.finfo = sub.finfo
    r.handler = sub.handler
    r.content_type = sub.content_type
    r.untrusted_type = sub.untrusted_type
    r.content_encodings = sub.content_encodings
    r.content_languages = sub.content_languages
    r.plan = sub.plan
    added, r.output_filters = (
        sub.output_filters,
        [*r.output_filters] if keeps_filters else protocol_filters(r),
    )
    for each in added:
        if each.type < FilterType.PROTOCOL or each not in r.output_filters:
            add_output_filter(r, each)
    for name, value in sub.headers_out.items():
        r.headers_out.set(name, value)
    for name, value in sub.err_headers_out.items():
        r.err_headers_out.set(name, value)
    _adopt_env(sub, r)
    r.notes = {**r.notes, **sub.notes}


def _adopt_env(sub: Request, r: Request) -> None:
    """Set the variables of a sub-request before those of *r*, which it hides."""
    own = r.env
    hidden = r.hidden_env or {}
    values = {**dict(dict.items(own)), **{name: entry.value for name, entry in hidden.items()}}
    found = dict(dict.items(sub.env))
    if isinstance(own, LazyEnv):
        r.env = own.with_values(found)
        values.pop(UNIQUE_ID_NAME, None)
    else:
        r.env = found
    r.hidden_env = sub.hidden_env
    append(r, values)
