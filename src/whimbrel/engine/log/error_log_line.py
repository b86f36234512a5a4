"""Lines of the error log, in httpd's two forms.

2.4: ``[time] [module:level] [pid N:tid N] (2)cause: [client A:P] AHnnnnn: text, referer: R``, with the
location in httpd's sources before the cause from level debug on; 2.2: ``[time] [level] [client A] (2)cause:
text, referer: R``.  An ErrorLogFormat replaces 2.4's (see error_log_format).
"""

from __future__ import annotations

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Final, Protocol
from whimbrel.config.messages import MAX_LINE
from whimbrel.http.semantics.dates import error_log_time
from whimbrel.http.syntax.url import escape_errorlog_item

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_NAMES: Final = (
    "emerg alert crit error warn notice info debug trace1 trace2 trace3 trace4 trace5 trace6 trace7 trace8"
)
LEVELS: Final = {name: number for number, name in enumerate(_NAMES.split())}
DEFAULT_LEVEL: Final = LEVELS["warn"]
INFO: Final = LEVELS["info"]
DEBUG: Final = LEVELS["debug"]


@dataclass(slots=True)
class LogLine:
    """One error-log message.

    Attributes:
        level: as LogLevel names it.
        text, code: the message; the AH number or "".
        module: the short name.
        cause: the system's error (``(2)No such file or directory``).
        source: httpd's file and line (``mod_rewrite.c(483)``) if known.
        peer: how 2.4 names the client, "" for the usual word (see `LogContext`).
    """

    level: str
    text: str
    code: str = ""
    module: str = "core"
    cause: str = ""
    source: str = ""
    peer: str = ""

    def message(self, *, new: bool) -> str:
        """Return the text; *new*: with its code, which 2.2 lacks."""
        return f"{self.code}: {self.text}" if new and self.code else self.text


@dataclass(slots=True)
class LogContext:
    """The other values of a line: seconds since the epoch, numbers of process and thread, the client ("" for
    none), the Referer field.

    *peer* names the client: 2.4 has "remote" for a connection that the server has opened, such as one for a
    stream of HTTP/2.
    """

    now: float
    pid: int
    tid: int
    client: str = ""
    port: int = 0
    referer: str | None = None
    peer: str = "client"


def enabled(levels: dict[str, int], module: str, level: str) -> bool:
    """Return True if LogLevel *levels* (module or "" -> number) admits *level* of *module*."""
    limit = levels.get(module)
    if limit is None:
        limit = levels.get("", DEFAULT_LEVEL)
    return LEVELS[level] <= limit


def error_line(line: LogLine, facts: LogContext, *, new: bool) -> bytes:
    """Return one line of the error log; *new*: in the form of 2.4."""
    cause = f"{line.cause}: " if line.cause else ""
    if new:
        source = f"{line.source}: " if line.source and LEVELS[line.level] >= DEBUG else ""
        client = f"[{facts.peer} {facts.client}:{facts.port}] " if facts.client else ""
        process = f"[{line.module}:{line.level}] [pid {facts.pid}:tid {facts.tid}] "
        head = f"{error_log_time(facts.now, microseconds=True)} {process}{source}{cause}{client}"
    else:
        client = f"[client {facts.client}] " if facts.client else ""
        head = f"{error_log_time(facts.now, microseconds=False)} [{line.level}] {client}{cause}"
    tail = f", referer: {escape_errorlog_item(facts.referer)}" if facts.referer else ""
    text = f"{head}{escape_errorlog_item(line.message(new=new))}{tail}"
    return to_bytes(text[:MAX_LINE] + "\n")


class ModuleLog(Protocol):
    """Logs a line about a request: level, AH number ("" without one), text, the system's reason as in APR."""

    def __call__(self, r: Request, level: str, code: str, text: str, cause: str = "") -> None: ...


def module_log(module: str) -> ModuleLog:
    """Return the log of *module*."""

    def log(r: Request, level: str, code: str, text: str, cause: str = "") -> None:
        r.log(level, text, code=code, module=module, cause=cause)

    return log
