"""mod_cgi: CGI programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.support.cgi.script_log import (
    SERVER_SETTERS,
    ScriptDirConfig,
    ScriptLogServerConfig,
    script_handler,
    set_script_timeout,
)
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import HANDLER

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class CgiServerConfig(ScriptLogServerConfig):
    """Settings of the script log."""


def complain(r: Request, words: str) -> None:
    """Log a line of a program's standard error."""
    r.log(
        "error",
        words if r.plan.dialect.wire_22 else f"stderr from {r.filename}: {words}",
        code="AH01215",
        module="cgi",
    )


REFUSALS = ("AH02809", "AH02810", "AH02811", "AH02812", "AH02813")


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler cgi-script, which runs the request's file."""
    return script_handler(scope, scope.server_config(CgiServerConfig), "cgi", REFUSALS, complain, "", True)


MODULE = Module(
    name="cgi_module",
    source="mod_cgi.c",
    dir_config=ScriptDirConfig,
    server_config=CgiServerConfig,
    dir_setters={"CGIScriptTimeout": set_script_timeout},
    server_setters=SERVER_SETTERS,
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
