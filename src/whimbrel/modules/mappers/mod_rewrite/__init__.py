"""mod_rewrite: rewrites URLs by rules.

Manual: mod/mod_rewrite.html and the pages under rewrite/. `settings` holds the records; `setters`, `args` and
`flags` fill them. `compiled`, `conditions`, `template`, `variables` and `maps` compile them, `engine` runs
the rules, `hooks` calls it; `log` writes the log.
"""

from __future__ import annotations

from whimbrel.base.errors import PostConfigError, apr_error
from whimbrel.base.latin1 import to_text
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import LogSink
from whimbrel.modules.mappers.mod_rewrite import setters
from whimbrel.modules.mappers.mod_rewrite.compiled import compile_ahead
from whimbrel.modules.mappers.mod_rewrite.hooks import make_fixup, make_handler, make_translate, make_types
from whimbrel.modules.mappers.mod_rewrite.log import log_sink
from whimbrel.modules.mappers.mod_rewrite.maps import ProgramMap, needs_engine
from whimbrel.modules.mappers.mod_rewrite.program_map import MapProgram
from whimbrel.modules.mappers.mod_rewrite.settings import RewriteDirConfig, RewriteServerConfig
from whimbrel.modules.support.setters import of_main, set_path
from whimbrel.registry.module import PROGRAMS, Hook, Module, Order, Provider
from whimbrel.registry.phases import FIXUPS, HANDLER, TRANSLATE_NAME
from whimbrel.registry.programs import ProgramHost


def rewrite_logs(configuration: Configuration) -> list[LogSink]:
    """Return the files and programs of RewriteLog (2.2)."""
    written = [
        server.config(RewriteServerConfig).log
        for server in configuration.servers()
        if RewriteServerConfig in server.records
    ]
    return [log_sink(name) for name in written if name]


def start_programs(configuration: Configuration, _host: ProgramHost) -> list[MapProgram]:
    """Start the programs of all servers whose own engine is on, in the master. Raises PostConfigError."""
    started: list[MapProgram] = []
    records = [
        server.config(RewriteServerConfig)
        for server in configuration.servers()
        if RewriteServerConfig in server.records
    ]
    maps = [
        rewrite_map
        for record in records
        if record.engine
        for rewrite_map in record.maps.values()
        if isinstance(rewrite_map, ProgramMap)
    ]
    for program in dict.fromkeys(rewrite_map.program for rewrite_map in maps):
        try:
            program.start()
        except OSError as problem:
            for running in started:
                running.release(at_once=True)
            why = apr_error(problem)
            shown = to_text(program.command[0])
            coded = "AH00654: " if configuration.dialect.messages_24 else ""
            line = f"{why}: {coded}mod_rewrite: could not start RewriteMap program {shown}"
            raise PostConfigError("rewrite", ("error", line), repeat_in_log=True) from None
        started.append(program)
    return started


def warn_of_programs(finished: Configuration) -> None:
    """Warn of programs without RewriteLock (2.2)."""
    if not finished.dialect.rewrite_22:
        return
    records = [
        server.config(RewriteServerConfig)
        for server in finished.servers()
        if RewriteServerConfig in server.records
    ]
    if (
        any(record.engine and any(map(needs_engine, record.maps.values())) for record in records)
        and not finished.main.config(RewriteServerConfig).lock
    ):
        finished.warn(
            "mod_rewrite: Running external rewrite maps without defining a RewriteLock is DANGEROUS!"
        )


MODULE = Module(
    name="rewrite_module",
    source="mod_rewrite.c",
    dir_config=RewriteDirConfig,
    server_config=RewriteServerConfig,
    dir_setters={
        "RewriteEngine": setters.set_engine,
        "RewriteOptions": setters.set_options,
        "RewriteBase": setters.set_base,
        "RewriteCond": setters.add_condition,
        "RewriteRule": setters.add_rule,
    },
    server_setters={
        "RewriteMap": setters.add_map,
        "RewriteLog": setters.set_log,
        "RewriteLogLevel": setters.set_log_level,
    },
    setters={
        "RewriteLock": of_main(RewriteServerConfig, set_path("lock")),
    },
    hooks=(
        Hook(TRANSLATE_NAME, make_translate, Order.FIRST),
        Hook(FIXUPS, make_fixup, Order.FIRST),
        Hook(FIXUPS, make_types, Order.LAST),
        Hook(HANDLER, make_handler, Order.MIDDLE),
    ),
    providers=(
        Provider("log", "rewrite_sinks", rewrite_logs),
        Provider(PROGRAMS, "rewrite", start_programs),
    ),
    post_config=(warn_of_programs, compile_ahead),
)
