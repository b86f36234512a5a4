"""mod_xsendfile: a script names in X-Sendfile the file that is sent instead of its body.

Behaviour and messages are those of 0.12, Debian's: names are not decoded. XSendFileAllowAbove is that of 0.9,
XSendFileUnescape that of 1.0. A file must lie below the directory of the requested script or below a path of
XSendFilePath, which always belongs to the server.
"""

from __future__ import annotations

import os
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.engine.body import FileSegment, release
from whimbrel.engine.output.filter import FilterError, FilterType, OutputFilter, add_output_filter
from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions
from whimbrel.http.syntax.url import unescape
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import prepended, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_FIELD: Final = "X-Sendfile"
_MICROSECONDS: Final = 1_000_000
_NOT_FOUND: Final = "(2)No such file or directory"
_ABOVE: Final = "(20023)The given path was above the root path"
_BAD: Final = "(20024)The given path is misformatted or contained invalid characters"


@dataclass(slots=True)
class XSendFileDirConfig:
    """Per-directory settings; None: as the server has it."""

    is_on: bool | None = setting(None)
    ignores_etag: bool | None = setting(None)
    ignores_time: bool | None = setting(None)
    unescapes: bool | None = setting(None)
    may_go_above: bool | None = setting(None)


@dataclass(slots=True)
class XSendFileServerConfig:
    """Per-server settings: paths below which files may lie."""

    paths: tuple[str, ...] = setting((), merge=prepended)


def add_path(cmd: Command, conf: XSendFileServerConfig, words: list[str]) -> None:
    """Add a path to those of the server, wherever the line stands."""
    server = cmd.server_config(XSendFileServerConfig)
    server.paths = (*server.paths, words[0]) if isinstance(server.paths, tuple) else (words[0],)


# the file -----------------------------------------------------------------------------------------
def merged_path(root: str, name: str, *, may_go_above: bool = False) -> str | None:
    """Return the canonical path of *name*, absolute or relative to *root*; None if it is not below *root*
    (apr_filepath_merge with APR_FILEPATH_NOTABOVEROOT).
    """
    base = [part for part in root.split("/") if part not in ("", ".")]
    parts = [] if name.startswith("/") else list(base)
    for part in name.split("/"):
        if part == "..":
            if parts:
                parts.pop()
            elif not may_go_above:
                return None
        elif part not in ("", "."):
            parts.append(part)
    if not may_go_above and parts[: len(base)] != base:
        return None
    is_directory = name.rpartition("/")[2] in ("", ".", "..")  # it stays so: no file has this name
    return "/" + "/".join(parts) + "/" * (is_directory and bool(parts))


async def _script_directory(r: Request) -> str:
    """Return the directory of what the client requested, also if it was rewritten to another URL."""
    line = r.the_request or ""
    target = line.split(" ", 2)[1] if line.count(" ") else ""
    filename = r.filename
    finfo = r.finfo
    if not r.uri.startswith(target):
        found = await r.engine.lookup_uri(r, target.partition("?")[0])
        filename = found.filename
    if filename is None:
        return "/"
    is_directory = finfo is not None and not S_ISREG(finfo.st_mode)
    return str(filename) if is_directory else f"{filename.rpartition('/')[0]}/"


class XSendFile(OutputFilter):
    """Output filter XSENDFILE."""

    __slots__ = ("_conf", "_paths")
    name = "XSENDFILE"
    type = FilterType.CONTENT_SET

    def __init__(self, conf: XSendFileDirConfig, paths: tuple[str, ...]) -> None:
        self._conf = conf
        self._paths = paths

    async def begin(self, r: Request) -> None:
        """Replace the body by the file; raise FilterError for one that cannot be sent."""
        if r.status != 200 or r.main is not None or r.handler == "default-handler":
            return
        name = r.headers_out.get(_FIELD) or r.err_headers_out.get(_FIELD)
        for fields in (r.headers_out, r.err_headers_out):
            fields.unset(_FIELD)
        if not name:
            return
        r.set_uncacheable()
        while r.body:
            release(r.body.pop())
        for fields in (r.headers_out, r.err_headers_out):
            fields.unset("Content-Length")
            fields.unset("Content-Encoding")
        self._send(r, await self._path(r, name))

    async def _path(self, r: Request, name: str) -> str:
        """Return the path of the file *name*."""
        if self._conf.unescapes:
            name, status = unescape(name)
            if status:
                raise self._failed(r, "bad file name encoding", "", 500)
        above = bool(self._conf.may_go_above)
        for root in (await _script_directory(r), *self._paths):
            path = merged_path(root, name, may_go_above=above)
            if path is not None:
                return path
        raise self._failed(r, f"unable to find file: {name}", _ABOVE)

    def _send(self, r: Request, path: str) -> None:
        """Describe the file at *path* and put it into the body, unless the request's conditions forbid it."""
        try:
            handle = os.open(to_bytes(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError as problem:
            raise self._failed(r, f"cannot open file: {path}", apr_error(problem)) from None
        except ValueError:
            raise self._failed(r, f"cannot open file: {path}", _NOT_FOUND) from None
        is_taken = False
        try:
            info = os.fstat(handle)
            if not S_ISREG(info.st_mode):
                raise self._failed(r, f"not a file {path}", _BAD)
            status = self._describe(r, info)
            if status == 200:
                r.body.append(FileSegment(handle, 0, info.st_size, path))
                is_taken = True
            else:
                r.status = status
        finally:
            if not is_taken:
                os.close(handle)

    def _describe(self, r: Request, info: os.stat_result) -> int:
        """Set the fields of the file; return the status after the request's conditions."""
        from whimbrel.modules.core.handler import set_last_modified  # imports what -t does not need

        r.no_local_copy = False
        out = r.headers_out
        more = r.err_headers_out
        if self._conf.ignores_time or ("Last-Modified" not in out and "Last-Modified" not in more):
            more.unset("Last-Modified")
            r.mtime = max(r.mtime or 0, info.st_mtime_ns // 1000)
            set_last_modified(r)
        if self._conf.ignores_etag or ("ETag" not in out and "ETag" not in more):
            more.unset("ETag")
            tag = _etag(r, info)
            if tag is not None:
                out.set("ETag", tag)
        out.set("Content-Length", str(info.st_size))
        met = meets_conditions(
            r.method,
            r.headers_in,
            out.get("ETag"),
            (r.mtime or 0) // _MICROSECONDS,
            int(r.time),
            r.status,
            version22=not r.plan.dialect.messages_24,
        )
        if met is PreconditionResult.OK:
            return 200
        return 304 if met is PreconditionResult.NOT_MODIFIED else 412

    def _failed(self, r: Request, text: str, cause: str, status: int = 404) -> FilterError:
        r.log("error", f"xsendfile: {text}", module="xsendfile", cause=cause)
        return FilterError(status)


def _etag(r: Request, info: os.stat_result) -> str | None:
    """Return the ETag. Of 2.4 it has the size of the file, but the time of the script, 0 for a back end:
    mod_xsendfile replaces the former only.
    """
    from whimbrel.modules.http.etag import make_etag  # imports what -t does not need

    script = r.finfo
    modified = r.mtime
    if script is not None:
        r.finfo = info
    if r.plan.dialect.messages_24:
        r.mtime = script.st_mtime_ns // 1000 if script is not None else 0
    tag = make_etag(r)
    r.mtime = modified
    return tag


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the filter."""
    conf = scope.dir_config(XSendFileDirConfig)
    if not conf.is_on:
        return None
    added = XSendFile(conf, scope.server_config(XSendFileServerConfig).paths)

    def insert(r: Request) -> HookStatus:
        add_output_filter(r, added)
        return OK

    return CompiledHook(insert, Reads.HEAD)


MODULE = Module(
    name="xsendfile_module",
    source="mod_xsendfile.c",
    dir_config=XSendFileDirConfig,
    server_config=XSendFileServerConfig,
    dir_setters={
        "XSendFile": set_flag("is_on"),
        "XSendFileIgnoreEtag": set_flag("ignores_etag"),
        "XSendFileIgnoreLastModified": set_flag("ignores_time"),
        "XSendFileUnescape": set_flag("unescapes"),
        "XSendFileAllowAbove": set_flag("may_go_above"),
    },
    server_setters={
        "XSendFilePath": add_path,
    },
    hooks=(Hook(INSERT_FILTER, make_insert, Order.LAST + 1),),
)
