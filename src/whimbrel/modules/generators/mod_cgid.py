"""mod_cgid: CGI programs started by a separate process in httpd.

Here it differs from mod_cgi in messages and names of directives only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.support.cgi.raw_stderr import stderr_writer
from whimbrel.modules.support.cgi.script_log import (
    SERVER_SETTERS,
    ScriptDirConfig,
    ScriptLogServerConfig,
    script_handler,
    set_script_timeout,
)
from whimbrel.modules.support.setters import set_path
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class CgidServerConfig(ScriptLogServerConfig):
    """Settings of the script log; the socket of httpd's daemon is validated without effect."""

    socket: str = setting("")


def complain(r: Request, words: str) -> None:
    """Write a line of a program's standard error unchanged to the main server's error log."""
    stderr_writer(r, r.engine.configuration.main)(to_bytes(words))


REFUSALS = ("AH01262", "AH01263", "AH01264", "AH01265", "AH01266")


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler cgi-script, which runs the request's file."""
    return script_handler(
        scope, scope.server_config(CgidServerConfig), "cgid", REFUSALS, complain, "AH01241", False
    )


MODULE = Module(
    name="cgid_module",
    source="mod_cgid.c",
    dir_config=ScriptDirConfig,
    server_config=CgidServerConfig,
    dir_setters={"CGIDScriptTimeout": set_script_timeout},
    server_setters={**SERVER_SETTERS, "ScriptSock": set_path("socket")},
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
