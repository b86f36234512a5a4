"""Hooks of the core: document root, SetHandler and ForceType, and httpd's default handler.

Messages, levels and statuses are those of httpd's default handler. Manual: handler.html, mod/core.html.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from stat import S_IFDIR, S_ISCHR, S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.portability import READ
from whimbrel.config.core_config import ETAG_DIGEST, ETAG_NONE, CoreDirConfig, CoreServerConfig
from whimbrel.config.handlers import version_text
from whimbrel.engine.body import FileSegment
from whimbrel.engine.deps.files import KIND, MAX_CACHED_FILE, CachedFile, content_signature
from whimbrel.engine.expressions import StringExpression
from whimbrel.engine.output.filter import FilterType
from whimbrel.expr.errors import EvalError
from whimbrel.http.semantics.conditional import CONDITIONS, PreconditionResult, meets_conditions
from whimbrel.http.semantics.dates import format_http
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.status import CLOSING_STATUSES
from whimbrel.modules.core.content import handler_name_of, lacking_handlers
from whimbrel.modules.core.filters_by_type import TYPES_NOTE
from whimbrel.modules.http.etag import MICROSECONDS, default_bits, file_etag, make_etag
from whimbrel.modules.http.methods import DELIVERED, options
from whimbrel.registry.methods import INVALID
from whimbrel.registry.module import CompiledHook, FileResponse, Reads, Scope
from whimbrel.registry.phases import OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

PATH_MAX: Final = 4096  # with SPARE bytes for what apr_filepath_merge may add
SPARE: Final = 4
# bytes up to which a file is sent as bytes; above, sendfile(2) saves the kernel a copy of varying cost
IN_MEMORY: Final = 16 * 1024
IN_FRAMES: Final = 512 * 1024  # the same for responses in frames
_GET = 0
_POST = 2
_OPTIONS = 5


# translate_name ---------------------------------------------------------------------------------
def make_translate(scope: Scope) -> CompiledHook:
    """Make the hook that maps a URL to a file name below the document root, without ServerPath."""
    old = not scope.dialect.messages_24
    root = scope.server_config(CoreServerConfig).document_root
    within = root.rstrip("/") if root else ""  # prefix of paths that need no normalization
    room = PATH_MAX - SPARE - len(root or "")

    def translate(r: Request) -> HookStatus:
        if r.proxy:
            return 403
        uri = r.uri
        if not uri.startswith("/") and uri != "*":
            text = (
                f"Invalid URI in request {r.the_request}"
                if old
                else f"Invalid URI in request '{uri}' '{r.the_request}'"
            )
            r.log("error", text, code="AH00126")
            return 400
        if (
            within
            and not r.server.path
            and "//" not in uri
            and "/." not in uri
            and len(uri) < room
            and uri[0] == "/"
        ):
            r.filename = within + uri
            r.canonical_filename = r.filename
            return OK
        base = root or r.engine.configuration.default_document_root
        path = _below(uri, r.server.path)
        long = len(base) + len(path.lstrip("/")) + SPARE > PATH_MAX
        name = None if long else joined(base, path)
        if name is None:
            r.log(
                "error",
                f"Cannot map {r.the_request} to file",
                code="AH00127",
                cause="(36)File name too long" if long else "",
            )
            return 403
        r.filename = name
        r.canonical_filename = name
        return OK

    return CompiledHook(translate, Reads.FIELDS)


def _below(uri: str, server_path: str) -> str:
    """Return the part of the URL's path below ServerPath, or all of it."""
    if server_path and uri.startswith(server_path):
        rest = uri[len(server_path) :]
        if server_path.endswith("/") or not rest or rest.startswith("/"):
            return rest
    return uri


def joined(root: str, path: str) -> str | None:
    """Return *path* below *root*, canonical; None if ``..`` leaves the root (apr_filepath_merge)."""
    if "//" not in path and "/." not in path and not path.startswith("."):
        return root.rstrip("/") + "/" + path.lstrip("/") if path.strip("/") else root.rstrip("/") + "/"
    directives: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not directives:
                return None
            directives.pop()
        elif part not in ("", "."):
            directives.append(part)
    tail = "/" if not directives or path.endswith(("/", "/.", "/..")) else ""
    return root.rstrip("/") + "/" + "/".join(directives) + (tail if directives else "")


# type_checker, fixups ---------------------------------------------------------------------------
def make_type_checker(scope: Scope) -> CompiledHook:
    """Make the last type checker, which leaves types as they are: mod_mime gives directories theirs.

    A .htaccess line without behaviour that would apply here refuses the request.
    """
    missing = scope.dir_config(CoreDirConfig).missing_type_checker
    if not missing:
        return CompiledHook(_no_type, Reads.NOTHING, constant=OK)

    def check(r: Request) -> HookStatus:
        r.log("error", f"{missing} has no behaviour here, {r.filename} is not sent")
        return 500

    return CompiledHook(check, Reads.HEAD)


def _no_type(_r: Request) -> HookStatus:
    return OK


def make_override_type(scope: Scope) -> CompiledHook | None:
    """Make the hook of ForceType, SetHandler and AcceptPathInfo, which override modules, or None."""
    conf = scope.dir_config(CoreDirConfig)
    forced = None if conf.forced_type in (None, "none") else conf.forced_type
    handler = None if conf.handler in (None, "none") else conf.handler
    template: StringExpression | None = conf.handler_expr
    accept = conf.accept_path_info
    has_type_filters = bool(conf.filters_by_type)
    if forced is None and handler is None and template is None and accept == 2:
        return None

    def override(r: Request) -> HookStatus:
        if forced is not None:
            if has_type_filters and r.content_type is not None and r.content_type != forced:
                r.notes[TYPES_NOTE] = r.content_type
            r.content_type = forced
        try:
            wanted = handler if template is None else _expanded(template, r)
        except EvalError as problem:
            r.log("error", f"Can't evaluate handler expression: {problem.reason}", code="AH03154")
            return 500
        if wanted is not None:
            r.handler = wanted
        if r.used_path_info == 2:
            r.used_path_info = accept
        return OK

    return CompiledHook(override, Reads.FIELDS if template is None else Reads.HEAD)


def _expanded(template: StringExpression, r: Request) -> str | None:
    text = handler_name_of(template.text(r))
    return text if text != "none" else None


# handler ----------------------------------------------------------------------------------------
class HandlerNames(frozenset[str]):
    """Names of handlers; one that ends in ``*`` stands for all with its prefix."""

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return frozenset.__contains__(self, name) or any(
            p[-1] == "*" and name.startswith(p[:-1]) for p in self
        )


def make_guard(scope: Scope) -> CompiledHook | None:
    """Make the hook that refuses handlers of loaded, unimplemented modules, so that no program is sent as
    text.

    None if no such module is loaded.
    """
    lacking = lacking_handlers(version_text(scope.dialect))
    names = HandlerNames(name for name, modules in lacking if any(map(scope.loaded, modules)))
    if not names:
        return None

    def guard(r: Request) -> HookStatus:
        r.log("error", f"handler {r.handler} has no behaviour here, {r.filename} is not sent")
        return 500

    return CompiledHook(guard, Reads.HEAD, handlers=names)


def leaves_body(r: Request) -> bool:
    """Return True if a handler leaves the request body unread: a sub-request has none, and a connection that
    ends needs no rest of it.  A body of unknown length is read, because that logs the error.
    """
    ends = r.close and not (r.head is not None and r.head.length_bad)
    return r.main is not None or ends or r.status in CLOSING_STATUSES


def make_default_handler(scope: Scope) -> CompiledHook:
    """Make the default handler: it discards the request body and responds with the file."""
    missing = "error" if scope.dialect.missing_is_error else "info"
    style = _style(scope)

    def default_handler(r: Request) -> HookStatus | Awaitable[HookStatus]:
        r.allowed |= DELIVERED
        if r.body_in.length != 0 or r.body_in.failure is not None:
            return after_body(r)
        return answer(r) if r.method_number else deliver(r, missing, style)

    async def after_body(r: Request) -> HookStatus:
        if not leaves_body(r) and (
            not r.body_in.ended or r.body_in.buffered or r.body_in.failure is not None
        ):
            # read to keep the connection usable; a sub-request has no body to read
            await r.body_in.discard()
        return answer(r)

    def answer(r: Request) -> HookStatus:
        if r.method_number in (_GET, _POST):
            return deliver(r, missing, style)
        if r.method_number == _OPTIONS:
            return options(r)
        if r.method_number == INVALID:
            _log_invalid(r)
            return 501
        return 405

    response = None
    if style is not None and style[0] & ETAG_NONE == 0:
        response = FileResponse(partial(file_etag, style[0]), IN_MEMORY, IN_FRAMES)
    reads = Reads.FIELDS | Reads.FILES
    return CompiledHook(default_handler, reads, is_async=True, file_response=response)


def _log_invalid(r: Request) -> None:
    line = r.the_request or ""
    if line.startswith(("\x16\x02", "\x16\x03")):
        r.log(
            "error",
            f"Invalid method in request {line} - possible attempt to establish SSL connection on non-SSL "
            "port",
            code="AH00134",
        )
    else:
        r.log("error", f"Invalid method in request {line}", code="AH00135")


Style = tuple[int, bool]


def _style(scope: Scope) -> Style | None:
    """Return what determines a file's validator fields and ranges; None if its bytes do."""
    conf = scope.dir_config(CoreDirConfig)
    bits = conf.etag.value or default_bits(scope.dialect)
    return None if conf.content_md5 or bits & ETAG_DIGEST else (bits, conf.max_ranges == 0)


def deliver(r: Request, missing: str, style: Style | None) -> HookStatus:
    """Respond with the file of *r*; *missing* is the log level for a file that does not exist."""
    info = r.finfo
    if info is None:
        beyond = (r.path_info or "") if r.plan.dialect.messages_24 else ""  # 2.2 logs the file name only
        r.log(missing, f"File does not exist: {r.filename}{beyond}", code="AH00128")
        return 404
    if info.st_mode & KIND == S_IFDIR:
        r.log(missing, f"Attempt to serve directory: {r.filename}", code="AH00129")
        return 404
    if r.path_info and r.used_path_info != 1:
        r.log(missing, f"File does not exist: {r.filename}{r.path_info}", code="AH00130")
        return 404
    if style is not None and r.mtime is None and r.vlist_validator is None and "no-etag" not in r.notes:
        known = r.engine.file_cache.get(r.filename or "", info)
        if known is not None and r.time * MICROSECONDS - known.modified > MICROSECONDS:
            return _send_known(r, known, style)
    return send_file(r)


def _send_known(r: Request, known: CachedFile, style: Style) -> HookStatus:
    """Respond with a cached, unchanged file; it is old enough for a strong ETag."""
    r.mtime = known.modified
    fields = known.fields.get(style)
    if fields is None:
        before, r.headers_out = r.headers_out, Headers()
        _set_fields(r, len(known.data), None)
        fields = r.headers_out.entries()
        known.fields[style] = fields
        r.headers_out = before
    r.headers_out.update(fields)
    status = _met(r, fields["etag"][1] if "etag" in fields else None)
    if status == 200:
        r.body.append(known.data)
    else:
        r.status = status
    return OK


def send_file(r: Request) -> HookStatus:
    """Respond with the file of *r*, or with the status of its conditions."""
    handle = _open(r)
    if handle is None:
        return _refuse(r)
    info = os.fstat(handle)
    if S_ISDIR(info.st_mode):  # it has replaced the file
        os.close(handle)
        return _refuse(r)
    if r.finfo is None or content_signature(info) != content_signature(r.finfo):
        r.set_uncacheable()
        info = r.deps.opened(r.filename or "", info)
    r.finfo = info
    is_taken = False
    try:
        is_taken = _add_body(r, FileSegment(handle, 0, info.st_size, r.filename or ""), info)
    finally:
        if not is_taken:
            os.close(handle)
    return OK


def _add_body(r: Request, part: FileSegment, info: os.stat_result) -> bool:
    """Set status and fields, and add the body; return True if the response has taken the descriptor."""
    status = _describe(r, part)
    if status != 200:
        if info.st_size <= MAX_CACHED_FILE:
            _remember(r, info, part.read())
        r.status = status
        return False
    if info.st_size > (IN_FRAMES if r.connection.is_http2 else IN_MEMORY):
        r.body.append(part)
        return True
    data = part.read()
    r.body.append(data)
    _remember(r, info, data)
    return False


def _refuse(r: Request) -> HookStatus:
    """Log that the file of *r* cannot be opened, which its signature does not show; return the status."""
    r.set_uncacheable()
    cause = (
        _why_not(r.deps.on_disk(r.filename or ""))
        if r.plan.dialect.wire_22 or r.finfo is not None and S_ISREG(r.finfo.st_mode)
        else ""
    )
    r.log("error", f"file permissions deny server access: {r.filename}", code="AH00132", cause=cause)
    return 403


def _remember(r: Request, info: os.stat_result, data: bytes) -> None:
    """Cache the content of a small file that was read completely."""
    if len(data) == info.st_size and S_ISREG(info.st_mode) and r.deps.is_settled(r.time):
        r.engine.file_cache.put(r.filename or "", info, data, r.time)


def _open(r: Request) -> int | None:
    """Return a descriptor of the file; None if it cannot be opened, or is a pipe, which would block.

    A device is as empty as its size.
    """
    if r.finfo is None or r.filename is None or not (S_ISREG(r.finfo.st_mode) or S_ISCHR(r.finfo.st_mode)):
        return None
    try:
        return os.open(to_bytes(r.deps.on_disk(r.filename)), READ)
    except OSError:
        return None


def _why_not(path: str) -> str:
    """Return the reason why a file cannot be opened, as the error log shows it."""
    try:
        os.close(os.open(to_bytes(path), READ))
    except OSError as problem:
        return apr_error(problem)
    return ""


def _describe(r: Request, part: FileSegment) -> int:
    """Set the fields of the file and return the status after the request's conditions."""
    assert r.finfo is not None
    conf = r.dir_config(CoreDirConfig)
    mtime = r.finfo.st_mtime_ns // 1000
    if r.mtime is None or r.mtime < mtime:
        r.mtime = mtime
    tag = _set_fields(r, part.length, part.read)
    if conf.content_md5 and (not r.output_filters or r.output_filters[0].type != FilterType.RESOURCE):
        import base64  # slow imports that few sites need
        import hashlib

        r.headers_out.set(
            "Content-MD5", base64.b64encode(hashlib.md5(part.read(), usedforsecurity=False).digest()).decode()
        )
    return _met(r, tag)


def _set_fields(r: Request, length: int, read: Callable[[], bytes] | None) -> str | None:
    """Set the fields that every file has; return its ETag."""
    out = r.headers_out
    set_last_modified(r)
    tag = make_etag(r, read)
    if tag is not None:
        out.set("ETag", tag)
    out.set("Accept-Ranges", "none" if r.dir_config(CoreDirConfig).max_ranges == 0 else "bytes")
    out.set("Content-Length", str(length))
    return tag


def _met(r: Request, tag: str | None) -> int:
    """Return the status after the request's conditions."""
    if r.no_local_copy or r.headers_in.has_none(CONDITIONS):
        return 200
    old = not r.plan.dialect.messages_24
    met = meets_conditions(
        r.method, r.headers_in, tag, (r.mtime or 0) // MICROSECONDS, int(r.time), r.status, version22=old
    )
    if met is PreconditionResult.OK:
        return 200
    if met is PreconditionResult.NOT_MODIFIED:
        return 304
    return 412


def set_last_modified(r: Request) -> None:
    """Set Last-Modified from `r.mtime`, at most the time of the request (ap_set_last_modified)."""
    seconds = (r.mtime or 0) // MICROSECONDS
    if seconds > r.time:
        seconds = int(r.time)
        r.set_uncacheable()
    r.headers_out.set("Last-Modified", format_http(seconds))
