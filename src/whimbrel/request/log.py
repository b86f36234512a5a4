"""Lines of the error log, in httpd's two forms.

2.4: ``[time] [module:level] [pid N:tid N] [client A:P] AHnnnnn: text, referer: R``; 2.2: ``[time] [level] [client A] text, referer: R``.
"""

from __future__ import annotations

from typing import Final

from whimbrel.http.dates import error_log_time
from whimbrel.http.url import escape_errorlog_item
from whimbrel.octets import raw

LEVELS: Final = {name: number for number, name in enumerate((
    "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug",
    "trace1", "trace2", "trace3", "trace4", "trace5", "trace6", "trace7", "trace8"))}
DEFAULT_LEVEL: Final = LEVELS["warn"]


def enabled(levels: dict[str, int], module: str, level: str) -> bool:
    """Whether LogLevel *levels* (module name or "" -> number) let a message of *module* at *level* through."""
    limit = levels.get(module)
    if limit is None:
        limit = levels.get("", DEFAULT_LEVEL)
    return LEVELS[level] <= limit


def error_line(
    *, new: bool, now: float, level: str, module: str, pid: int, tid: int, client: str, port: int, code: str, text: str, referer: str | None,
) -> bytes:
    """One line for the error log; *client* "" leaves the client out, *code* is the AH number or ""."""
    text = escape_errorlog_item(text)
    if new:
        head = f"{error_log_time(now, microseconds=True)} [{module}:{level}] [pid {pid}:tid {tid}] "
        if client:
            head += f"[client {client}:{port}] "
        if code:
            head += f"{code}: "
    else:
        head = f"{error_log_time(now, microseconds=False)} [{level}] "
        if client:
            head += f"[client {client}] "
    tail = f", referer: {escape_errorlog_item(referer)}" if referer else ""
    return raw(f"{head}{text}{tail}\n")
