"""mod_log_config: access logs.

Public: MODULE, writers_of, server_writers, access_sinks, kind_of; files: items (format letters), writer
(lines), json_lines (the format whimbrel_json).
CustomLog and TransferLog of a virtual host replace those of the main server; a GlobalLog of the main server
stays.  A format's name is resolved after the whole configuration is read, so it may be defined later; an
undefined name is itself the format.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.model import LogSink, Server, confs
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.expr.api import compile_condition
from whimbrel.expr.errors import ExprError
from whimbrel.modules.core.log import directory_problem, log_sink
from whimbrel.modules.loggers.mod_log_config.items import KINDS, ItemKind
from whimbrel.modules.loggers.mod_log_config.writer import (
    AccessLogger,
    Condition,
    ExprCondition,
    KindOf,
    Piece,
    parse_format,
)
from whimbrel.modules.support.setters import own, set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import LOG_TRANSACTION, OK, HookStatus
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

COMMON = '%h %l %u %t "%r" %>s %b'
JSON: Final = "whimbrel_json"
COOKIES = '%{Cookie}n "%r" %t'


@dataclass(frozen=True, slots=True)
class AccessLog:
    """A CustomLog, GlobalLog, TransferLog or CookieLog line; *format* None: the server's default."""

    sink: LogSink
    written: str
    place: SourceLocation
    format: str | None
    items: tuple[Piece, ...]
    condition: Condition | ExprCondition | None = None
    everywhere: bool = False


@dataclass(slots=True)
class LogServerConfig:
    """The access logs of a server; *outer* is the main server's record if this is a virtual host's."""

    logs: list[AccessLog] = setting(make=list)
    formats: dict[str, tuple[Piece, ...]] = setting(make=dict)
    default_format: tuple[Piece, ...] | None = setting(None)
    buffered: bool = setting(False)
    outer: LogServerConfig | None = setting(None)

    def merge_onto(self, base: LogServerConfig) -> LogServerConfig:
        """Return a virtual host's record with the main server's as *outer*."""
        default = base.default_format if self.default_format is UNSET else self.default_format
        formats = {**own(base, "formats", dict), **own(self, "formats", dict)}
        return LogServerConfig(own(self, "logs", list), formats, default, base.buffered, base)


def kind_of(cmd: Command) -> KindOf:
    """Return the look-up of format letters: those of this version, then those of other modules."""
    old = not cmd.dialect.keywords_24

    def find(letter: str) -> ItemKind | None:
        kind = KINDS.get(letter)
        if kind is not None:
            return kind if not old or kind.versions & Versions.V22 else None
        item: ItemKind | None = cmd.provider("log_item", letter)
        if item is None and letter in ("x", "c") and cmd.loaded("ssl_module"):
            return _OF_TLS  # mod_ssl's items, which are empty on connections without TLS
        return item

    return find


def set_format(cmd: Command, conf: LogServerConfig, words: list[str]) -> None:
    """LogFormat: with a name, or as the default of the TransferLog lines."""
    items = parse_format(words[0], kind_of(cmd))
    if len(words) == 1:
        conf.default_format = items
    else:
        conf.formats = {**own(conf, "formats", dict), words[1]: items}


def _add(
    cmd: Command,
    conf: LogServerConfig,
    written: str,
    form: str | None,
    condition: str = "",
    *,
    everywhere: bool = False,
) -> None:
    items = () if form is None else parse_format(form, kind_of(cmd))
    target = written if written.startswith("|") else cmd.server_path(written)
    sink = log_sink("", target, shell_default=cmd.dialect.pipes_by_shell)
    log = AccessLog(
        sink, written, cmd.place, form, items, _condition(cmd, condition) if condition else None, everywhere
    )
    conf.logs = [*own(conf, "logs", list), log]


_OF_TLS: Final = ItemKind(lambda _r, _a: None)


def _condition(cmd: Command, text: str) -> Condition | ExprCondition:
    low = text.lower()
    if low.startswith("env="):
        name = text[4:]
        if name in ("", "!"):
            raise ConfigError("missing environment variable name")
        return Condition(name.removeprefix("!"), name.startswith("!"))
    if low.startswith("expr=") and cmd.dialect.expressions:
        if not text[5:]:
            raise ConfigError("missing condition")
        try:
            return ExprCondition(
                compile_condition(text[5:], lookup=cmd.provider, place=f"{cmd.place.path}:{cmd.place.line}")
            )
        except ExprError as problem:
            raise ConfigError(problem.reason) from None
    raise ConfigError("error in condition clause")


def set_custom(cmd: Command, conf: LogServerConfig, words: list[str]) -> None:
    """CustomLog: file or program, format or its name, condition."""
    _add(cmd, conf, *words)


def set_global(cmd: Command, conf: LogServerConfig, words: list[str]) -> None:
    """GlobalLog: a CustomLog that virtual hosts cannot replace."""
    _add(cmd, conf, *words, everywhere=True)


def set_transfer(cmd: Command, conf: LogServerConfig, words: list[str]) -> None:
    """TransferLog: a log in the default format."""
    _add(cmd, conf, words[0], None)


def set_cookie(cmd: Command, conf: LogServerConfig, words: list[str]) -> None:
    """CookieLog of 2.2."""
    _add(cmd, conf, words[0], COOKIES)


# lines --------------------------------------------------------------------------------------------
def writers_of(conf: LogServerConfig) -> tuple[AccessLogger, ...]:
    """Return the compiled logs of a server."""
    logs = own(conf, "logs", list)
    outer = conf.outer if isinstance(conf.outer, LogServerConfig) else None
    mine = tuple(_writer(conf, log) for log in logs)
    if outer is None:
        return mine
    return mine + tuple(_writer(outer, log) for log in own(outer, "logs", list) if log.everywhere or not mine)


def _writer(conf: LogServerConfig, log: AccessLog) -> AccessLogger:
    if log.format is None:
        items = (
            conf.default_format if isinstance(conf.default_format, tuple) else parse_format(COMMON, KINDS.get)
        )
    else:
        formats: dict[str, tuple[Piece, ...]] = own(conf, "formats", dict)
        items = formats[log.format] if log.format in formats else _undefined(log.format, log.items)
    return AccessLogger(log.sink, items, log.condition)


def _undefined(name: str, items: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return the format *name* that no line defines: a built-in one, else *items*, of the name itself."""
    if name == JSON:
        from whimbrel.modules.loggers.mod_log_config.json_lines import json_items  # few configurations

        return json_items()
    return parse_format(COMMON, KINDS.get) if name == "CLF" else items


def server_writers(server: Server) -> tuple[AccessLogger, ...]:
    """Return the access logs of *server*, for responses sent without running the phases."""
    return writers_of(server.config(LogServerConfig))


def access_sinks(configuration: Configuration) -> list[LogSink]:
    """Return the sinks of the access logs of all servers, each distinct configuration once."""
    return [
        writer.sink for conf in confs(configuration.servers(), LogServerConfig) for writer in writers_of(conf)
    ]


def libraries(configuration: Configuration) -> tuple[str, ...]:
    """Return the modules that the formats of all servers import."""
    records = confs(configuration.servers(), LogServerConfig)
    has_json = any(log.format == JSON for conf in records for log in own(conf, "logs", list))
    return ("whimbrel.modules.loggers.mod_log_config.json_lines",) if has_json else ()


def make_log(scope: Scope) -> CompiledHook | None:
    """Return the hook that writes the lines of a finished request; None without logs."""
    writers = writers_of(scope.server_config(LogServerConfig))
    if not writers:
        return None

    def log(r: Request) -> HookStatus:
        write = r.engine.runtime.write_log
        for writer in writers:
            if writer.condition is None or writer.matches(r):
                write(writer.sink, writer.line(r))
        return OK

    return CompiledHook(log, Reads.NOTHING)


def check_directories(configuration: Configuration) -> None:
    """Check that the directories of all logs exist (2.4), before the start."""
    if not configuration.dialect.checks_log_directories_first:
        return
    main, *hosts = configuration.servers()
    lines = []
    for conf in confs((main, *reversed(hosts)), LogServerConfig):
        for log in conf.logs:
            problem, directory = ("", "") if log.sink.piped else directory_problem(log.sink.target)
            if problem:
                lines.append(
                    f"{problem}: AH02297: Cannot access directory '{directory}' for log file '{log.written}' "
                    f"defined at {log.place.path}:{log.place.line}"
                )
    configuration.refuse_logs(list(dict.fromkeys(lines)))


MODULE = Module(
    name="log_config_module",
    source="mod_log_config.c",
    server_config=LogServerConfig,
    server_setters={
        "CustomLog": set_custom,
        "GlobalLog": set_global,
        "TransferLog": set_transfer,
        "LogFormat": set_format,
        "CookieLog": set_cookie,
        "BufferedLogs": set_flag("buffered"),
    },
    hooks=(Hook(LOG_TRANSACTION, make_log, Order.MIDDLE),),
    providers=(
        Provider("log", "writers", server_writers),
        Provider("log", "access_sinks", access_sinks),
        Provider("libraries", "log_config", libraries),
        Provider("log", "buffered", lambda server: server.config(LogServerConfig).buffered),
    ),
    check_config=(check_directories,),
)
