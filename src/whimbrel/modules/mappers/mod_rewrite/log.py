"""Rewriting log: levels trace1 to trace8 of 2.4's error log, or the file of 2.2's RewriteLog.

A line begins as an access-log line. It contains numbers of server and request (``sid``, ``rid``), the kind of
request, the number of internal redirects, and the directory of the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import BLANKS
from whimbrel.catalogue.log_sources import source_of
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.model import LogSink
from whimbrel.engine import identity
from whimbrel.engine.log.error_log_line import DEFAULT_LEVEL, LEVELS
from whimbrel.http.semantics.dates import log_time
from whimbrel.http.syntax.url import escape_logitem
from whimbrel.modules.mappers.mod_rewrite.context import LogFn
from whimbrel.modules.mappers.mod_rewrite.settings import RewriteServerConfig
from whimbrel.registry.module import Scope

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_DEBUG: Final = LEVELS["debug"]


def log_level(scope: Scope) -> int:
    """Return the highest level of lines that are logged under *scope*, 0 for none."""
    if scope.dialect.rewrite_22:
        server = scope.server_config(RewriteServerConfig)
        return server.log_level if server.log else 0
    levels = scope.dir_config(CoreDirConfig).log_level or scope.server_config(CoreServerConfig).log_level
    return max(0, levels.get("rewrite", levels.get("", DEFAULT_LEVEL)) - _DEBUG)


def log_function(scope: Scope) -> LogFn | None:
    """Return the function that logs lines under *scope*; None without logging."""
    limit = log_level(scope)
    if not limit:
        return None
    if scope.dialect.rewrite_22:
        return _to_file(log_sink(scope.server_config(RewriteServerConfig).log or ""), limit)

    def to_error_log(r: Request, level: int, directory: str, text: str) -> None:
        if level <= limit:
            source = source_of("rewrite", "", f"perdir {text}" if directory else text)
            r.log(
                f"trace{level}",
                f"{_head(r)} {_who(r)} {_directory_prefix(directory)}{text}",
                module="rewrite",
                source=source,
            )

    return to_error_log


def log_sink(written: str) -> LogSink:
    """Return the sink of a RewriteLog line, whose file is already absolute."""
    return (
        LogSink(written[1:].lstrip(BLANKS), piped=True, shell=True)
        if written.startswith("|")
        else LogSink(written)
    )


def _to_file(sink: LogSink, limit: int) -> LogFn:
    def to_file(r: Request, level: int, directory: str, text: str) -> None:
        if level <= limit:
            runtime = r.engine.runtime
            line = (
                f"{_head(r)} {log_time(runtime.now())} {_who(r)} ({level}) "
                f"{_directory_prefix(directory)}{text}"
            )
            runtime.write_log(sink, to_bytes(escape_logitem(line).replace('\\"', '"') + "\n"))

    return to_file


def _head(r: Request) -> str:
    return f"{r.connection.useragent_ip or r.connection.client_ip} - {r.user or '-'}"


def _who(r: Request) -> str:
    redirects = 0
    request = r
    while request.prev is not None:
        redirects, request = redirects + 1, request.prev
    kind = "subreq" if r.main is not None else "initial"
    redirect_suffix = f"/redir#{redirects}" if redirects else ""
    return f"[{identity.server_name(r)}/sid#{id(r.server):x}][rid#{id(r):x}/{kind}{redirect_suffix}]"


def _directory_prefix(directory: str) -> str:
    return f"[perdir {directory}] " if directory else ""
