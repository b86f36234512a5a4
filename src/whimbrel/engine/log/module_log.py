"""The error log of one module: its lines name the module once."""

from __future__ import annotations

from whimbrel.base.static_typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


class ModuleLog(Protocol):
    """Logs a line about a request: level, AH number ("" without one), text, the system's reason as in APR."""

    def __call__(self, r: Request, level: str, code: str, text: str, cause: str = "") -> None: ...


def module_log(module: str) -> ModuleLog:
    """Return the log of *module*."""

    def log(r: Request, level: str, code: str, text: str, cause: str = "") -> None:
        r.log(level, text, code=code, module=module, cause=cause)

    return log
