"""Standard error of programs that httpd starts with an error log as their standard error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whimbrel.config.model import Server
    from whimbrel.engine.request import Request


def stderr_writer(r: Request, server: Server) -> Callable[[bytes], None]:
    """Return the function that writes a line unchanged to the error log of *server*."""
    configuration = r.engine.configuration
    runtime = r.engine.runtime
    provider = configuration.provider("log", "error_sink")
    sink = provider(configuration, server) if provider is not None else configuration.spec.error_log

    def write(line: bytes) -> None:
        if sink is not None:
            runtime.write_log(sink, line + b"\n")

    return write
