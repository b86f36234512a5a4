"""Error-log lines of the balancer: about a request, or about the server."""

from __future__ import annotations

from typing import Final

from whimbrel.catalogue.log_sources import source_of
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.log.error_log_line import LogLine, enabled, module_log
from whimbrel.engine.request import Request

MODULE: Final = "proxy_balancer"


log = module_log(MODULE)


def is_logged(r: Request, level: str, *, module: str = MODULE) -> bool:
    """Return True if lines of *level* about the server of *r* are logged."""
    return enabled(r.server.config(CoreServerConfig).log_level, module, level)


def log_server(r: Request, level: str, code: str, text: str, *, module: str = MODULE) -> None:
    """Log a line that names no client."""
    if is_logged(r, level, module=module):
        line = LogLine(level, text, code, module, source=source_of(module, code, text))
        r.engine.error_log.about_server(r.server, line)


def refuse(r: Request, is_old: bool, name: str, code: str, text: str) -> None:
    """Log why no member was found; 2.2 names no client."""
    if is_old:
        log_server(r, "error", "", f"proxy: BALANCER: ({name}). {text}")
    else:
        log(r, "error", code, f"{name}: {text}")
