"""mod_cgi: CGI programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.modules.support.cgi.script_log import SERVER_SETTERS, ScriptLog, ScriptLogServerConfig
from whimbrel.modules.support.setters import timeout
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class CgiDirConfig:
    """CGIScriptTimeout in seconds; 0: TimeOut."""

    timeout: float = setting(0.0)


@dataclass(slots=True)
class CgiServerConfig(ScriptLogServerConfig):
    """Settings of the script log."""


def set_timeout(cmd: Command, conf: CgiDirConfig, words: list[str]) -> None:
    """Set a time with or without unit."""
    time = timeout(words[0])
    if time is None:
        raise ConfigError(f"{cmd.name} has wrong format")
    conf.timeout = time / 1_000_000


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
    from whimbrel.modules.support.cgi.script import (
        HANDLERS,
        CgiVariant,
        make_runner,
        timeout_of,
    )  # its import takes 50 ms, which -t must not pay

    log = ScriptLog(scope.server_config(CgiServerConfig))
    run = make_runner(
        CgiVariant("cgi", REFUSALS, complain, "", True),
        log,
        timeout_of(scope, scope.dir_config(CgiDirConfig).timeout),
    )
    return CompiledHook(run, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset(HANDLERS))


MODULE = Module(
    name="cgi_module",
    source="mod_cgi.c",
    dir_config=CgiDirConfig,
    server_config=CgiServerConfig,
    dir_setters={"CGIScriptTimeout": set_timeout},
    server_setters=SERVER_SETTERS,
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
