"""mod_log_forensic: each request logged before and after processing, so that a crash can be traced."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.model import LogSink, confs
from whimbrel.directives.command import Command
from whimbrel.modules.core.log import log_sink
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import DECLINED, LOG_TRANSACTION, POST_READ_REQUEST, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

NOTE = "forensic-id"
_SPECIAL = re.compile(r"[\x00-\x1f%:|\x7f-\xff]")


@dataclass(slots=True)
class ForensicServerConfig:
    """Per-server settings: the log, or None."""

    sink: LogSink | None = setting(None)


def set_log(cmd: Command, conf: ForensicServerConfig, words: list[str]) -> None:
    """ForensicLog: a file or a program."""
    target = words[0] if words[0].startswith("|") else cmd.server_path(words[0])
    conf.sink = log_sink("", target, shell_default=cmd.dialect.pipes_by_shell)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda m: f"%{ord(m[0]):02x}", text)


def make_begin(scope: Scope) -> CompiledHook | None:
    """Log the request as received; its id is UNIQUE_ID, or process, time and counter."""
    sink = scope.server_config(ForensicServerConfig).sink
    if sink is None:
        return None
    counter = itertools.count()

    def begin(r: Request) -> HookStatus:
        if r.prev is not None:
            return DECLINED
        r.set_uncacheable()
        runtime = r.engine.runtime
        ident = r.env.get("UNIQUE_ID") or f"{runtime.pid}:{int(r.time):x}:{next(counter):x}"
        r.notes[NOTE] = ident
        fields = "".join(f"|{_escaped(name)}:{_escaped(value)}" for name, value in r.headers_in.items())
        runtime.write_log(sink, to_bytes(f"+{ident}|{_escaped(r.the_request or '')}{fields}\n"))
        return DECLINED

    return CompiledHook(begin)


def make_end(scope: Scope) -> CompiledHook | None:
    """Log the end of the request."""
    sink = scope.server_config(ForensicServerConfig).sink
    if sink is None:
        return None

    def end(r: Request) -> HookStatus:
        ident = r.notes.get(NOTE)
        if ident is not None:
            r.engine.runtime.write_log(sink, to_bytes(f"-{ident}\n"))
        return DECLINED

    return CompiledHook(end)


def sinks(configuration: Configuration) -> list[LogSink]:
    """Return the logs of all servers, to be opened at the start."""
    return [
        conf.sink for conf in confs(configuration.servers(), ForensicServerConfig) if conf.sink is not None
    ]


MODULE = Module(
    name="log_forensic_module",
    source="mod_log_forensic.c",
    server_config=ForensicServerConfig,
    server_setters={
        "ForensicLog": set_log,
    },
    hooks=(
        Hook(POST_READ_REQUEST, make_begin, Order.REALLY_FIRST, after=("mod_unique_id.c",)),
        Hook(LOG_TRANSACTION, make_end, Order.REALLY_LAST),
    ),
    providers=(Provider("log", "forensic_sinks", sinks),),
)
