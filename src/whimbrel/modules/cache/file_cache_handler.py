"""Handler of mod_file_cache: the content of a file that was opened at start."""

from __future__ import annotations

import os

from whimbrel.base.static_typing import Final
from whimbrel.engine.body import FileSegment
from whimbrel.engine.request import Request
from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions
from whimbrel.http.semantics.dates import format_http
from whimbrel.modules.cache.mod_file_cache import FileCacheServerConfig
from whimbrel.modules.http.etag import make_etag
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

IN_MEMORY: Final = 16 * 1024  # bytes of a file that is read at once


def make_handler(scope: Scope) -> CompiledHook | None:
    """Make the handler; None without files."""
    files = scope.server_config(FileCacheServerConfig).files
    if not files:
        return None
    is_22 = not scope.dialect.messages_24

    def handle(r: Request) -> HookStatus:
        name = r.handler
        if name is not None and "/" not in name and name != "default-handler":
            return DECLINED
        file = files.get(r.filename or "") if r.method_number == 0 else None
        if file is None:
            return DECLINED
        r.set_uncacheable()  # the file may change in place
        r.allowed |= 1
        info = file.info
        r.finfo = info
        seconds = info.st_mtime_ns // 1_000_000_000
        r.mtime = max(r.mtime or 0, info.st_mtime_ns // 1000)
        r.headers_out.set("Last-Modified", format_http(min(seconds, int(r.time))))
        tag = make_etag(r)
        if tag is not None:
            r.headers_out.set("ETag", tag)
        met = meets_conditions(r.method, r.headers_in, tag, seconds, int(r.time), r.status, version22=is_22)
        if met is not PreconditionResult.OK and not r.no_local_copy:
            return 304 if met is PreconditionResult.NOT_MODIFIED else 412
        r.headers_out.set("Content-Length", str(info.st_size))
        if info.st_size <= IN_MEMORY:
            r.write(os.pread(file.handle, info.st_size, 0))
        else:
            r.body.append(FileSegment(os.dup(file.handle), 0, info.st_size))
        return OK

    return CompiledHook(handle, Reads.HEAD)
