"""mod_cgid: CGI programs started by a separate process in httpd.

Here it differs from mod_cgi in messages and names of directives only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import BLANKS, atoi
from whimbrel.directives.command import Command
from whimbrel.modules.support.cgi.raw_stderr import stderr_writer
from whimbrel.modules.support.cgi.script_log import SERVER_SETTERS, ScriptLog, ScriptLogServerConfig
from whimbrel.modules.support.setters import set_path, timeout
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class CgidDirConfig:
    """CGIDScriptTimeout in seconds; 0: TimeOut."""

    timeout: float = setting(0.0)


@dataclass(slots=True)
class CgidServerConfig(ScriptLogServerConfig):
    """Settings of the script log; the socket of httpd's daemon is validated without effect."""

    socket: str = setting("")


def set_timeout(cmd: Command, conf: CgidDirConfig, words: list[str]) -> None:
    """Set a time with or without unit; 2.2 accepts negative ones too."""
    time = timeout(words[0])
    if (
        time is None
        and cmd.dialect.lenient_values
        and timeout(words[0].lstrip(BLANKS).removeprefix("-")) is not None
    ):
        time = max(0, atoi(words[0]))
    if time is None:
        raise ConfigError(f"{cmd.name} has wrong format")
    conf.timeout = time / 1_000_000


def complain(r: Request, words: str) -> None:
    """Write a line of a program's standard error unchanged to the main server's error log."""
    stderr_writer(r, r.engine.configuration.main)(to_bytes(words))


REFUSALS = ("AH01262", "AH01263", "AH01264", "AH01265", "AH01266")


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler cgi-script, which runs the request's file."""
    from whimbrel.modules.support.cgi.script import (
        HANDLERS,
        CgiVariant,
        make_runner,
        timeout_of,
    )  # its import takes 50 ms, which -t must not pay

    log = ScriptLog(scope.server_config(CgidServerConfig))
    variant = CgiVariant("cgid", REFUSALS, complain, "AH01241", False)
    run = make_runner(variant, log, timeout_of(scope, scope.dir_config(CgidDirConfig).timeout))
    return CompiledHook(run, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset(HANDLERS))


MODULE = Module(
    name="cgid_module",
    source="mod_cgid.c",
    dir_config=CgidDirConfig,
    server_config=CgidServerConfig,
    dir_setters={"CGIDScriptTimeout": set_timeout},
    server_setters={**SERVER_SETTERS, "ScriptSock": set_path("socket")},
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
