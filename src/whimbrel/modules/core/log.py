"""Error log: its sink (ErrorLog), levels (LogLevel) and format (ErrorLogFormat).

Manual: mod/core.html#errorlog, #loglevel, #errorlogformat.
"""

from __future__ import annotations

import os

from whimbrel.base.errors import ConfigError, apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.load import catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.model import LogSink, Server
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword
from whimbrel.engine.log.error_log_line import LEVELS
from whimbrel.modules.support.setters import by_version, own, set_text

DEFAULT_LOG = "logs/error_log"
_KEYWORDS = "one of emerg/alert/crit/error/warn/notice/info/debug"


def set_log_level_22(cmd: Command, _none: None, words: list[str]) -> None:
    """Set LogLevel of 2.2: one level for the whole server; the first word of a quoted argument counts."""
    level = LEVELS.get(getword(words[0])[0].lower(), 99)
    if level > LEVELS["debug"]:
        raise ConfigError(f"LogLevel requires level keyword: {_KEYWORDS}")
    cmd.server_config(CoreServerConfig).log_level = {"": level}


def set_log_level(cmd: Command, _none: None, words: list[str]) -> None:
    """Set LogLevel of 2.4: ``level`` for all modules, ``module:level`` for one, or by section."""
    conf: CoreDirConfig | CoreServerConfig = (
        cmd.dir_config(CoreDirConfig) if cmd.path or cmd.in_htaccess else cmd.server_config(CoreServerConfig)
    )
    levels = dict(own(conf, "log_level", dict))
    module, colon, word = words[0].rpartition(":")
    if not colon:
        levels = {"": _level(word, "")}
        subject = "all modules"
    else:
        if not word:
            raise ConfigError(f"Module specifier '{module}' must be followed by a log level keyword")
        level = _level(word, f"{words[0]}: ")
        identifier, source = _module(cmd, module)
        levels[identifier.removesuffix("_module")] = level
        subject = f"module {source}"
    conf.log_level = levels
    if not cmd.path:
        line = 3517 if colon else 3490
        cmd.warn(f"core.c({line}): Setting LogLevel for {subject} to {word.lower()}", level="trace3")


def _level(word: str, prefix: str) -> int:
    level = LEVELS.get(word.lower())
    if level is None:
        raise ConfigError(f"{prefix}Log level keyword must be {_KEYWORDS}/trace1/.../trace8")
    return level


def _module(cmd: Command, name: str) -> tuple[str, str]:
    """Return identifier and source of the loaded module called ``alias_module``, ``mod_alias.c`` or
    ``alias``; names are case-sensitive.
    """
    from whimbrel.catalogue.third_party import products  # few configurations have the directive

    known = [(row.identifier, row.source) for row in catalogue("2.4").modules]
    known += [
        (module.identifier, source)
        for product in products()
        for module in product.modules
        for source in module.sources
    ]
    for names in known:
        if name in names and cmd.loaded(names[0]):
            return names
    cmd.warn(f"core.c(3507): Cannot find module '{name}', trying '{name}_module'", level="trace6")
    for identifier, source in known:
        if identifier == f"{name}_module" and cmd.loaded(identifier):
            return identifier, source
    raise ConfigError(f"Cannot find module {name}")


def set_error_log_format(_cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set ErrorLogFormat: of each line, or with ``request`` and ``connection`` of more lines."""
    from whimbrel.modules.core.log_format import parse_format  # few configurations have the directive

    if len(words) == 1:
        items = parse_format(words[0])
        if not any(item.letter == "M" for item in items):
            raise ConfigError("main ErrorLogFormat must contain message format string '%M'")
        if any("+" in item.flags for item in items):
            raise ConfigError("The '+' flag cannot be used in the main error log format")
        conf.error_log_format = items
        return
    kind = words[0].lower()
    if kind not in ("request", "connection"):
        raise ConfigError("ErrorLogFormat type must be one of request, connection")
    items = parse_format(words[1])
    if any(item.letter == "M" for item in items):
        raise ConfigError("%M cannot be used in once-per-request or once-per-connection formats")
    formats = own(conf, "error_log_formats", dict)
    conf.error_log_formats = {**formats, kind: [*formats.get(kind, []), items]}


def log_sink(root: str, written: str, *, shell_default: bool) -> LogSink:
    """Return the sink of ErrorLog or CustomLog; *shell_default*: a shell runs a plain ``|`` (2.2)."""
    if written.startswith("||"):
        return LogSink(written[2:], piped=True)
    if written.startswith("|$"):
        return LogSink(written[2:], piped=True, shell=True)
    if written.startswith("|"):
        return LogSink(written[1:], piped=True, shell=shell_default)
    return LogSink(written if written.startswith("/") else f"{root}/{written}")


def error_sink(configuration: Configuration, server: Server) -> LogSink:
    """Return the error log of *server*: its own, or the main server's, or logs/error_log."""
    written = server.value(CoreServerConfig, "error_log") or DEFAULT_LOG
    if written == "syslog" or written.startswith("syslog:"):
        return LogSink(written.partition(":")[2], syslog=True)
    return log_sink(configuration.root, written, shell_default=configuration.dialect.pipes_by_shell)


def check_error_logs(configuration: Configuration) -> None:
    """Check the directories of all error logs before the start (2.4).

    Virtual hosts are checked in httpd's order, the last one first.
    """
    if not configuration.dialect.checks_log_directories_first:
        return
    main, *hosts = configuration.servers()
    main_log = main.value(CoreServerConfig, "error_log")
    lines = [_unreachable(configuration, main, "main error log")]
    for server in reversed(hosts):
        place = server.place
        if place is not None and server.value(CoreServerConfig, "error_log") != main_log:
            what = f"error log of vhost defined at {place.path}:{place.line}"
            lines.append(_unreachable(configuration, server, what))
    configuration.refuse_logs([line for line in lines if line])


def _unreachable(configuration: Configuration, server: Server, what: str) -> str:
    sink = error_sink(configuration, server)
    if sink.piped or sink.syslog:
        return ""
    problem, directory = directory_problem(configuration.disk.on_disk(sink.target))
    return f"{problem}: AH02291: Cannot access directory '{directory}' for {what}" if problem else ""


def directory_problem(path: str) -> tuple[str, str]:
    """Return the problem of *path*'s directory in APR's form, ``(2)No such ...``, and the directory."""
    directory = path.rpartition("/")[0] + "/"
    try:
        os.stat(to_bytes(directory))
    except OSError as problem:
        return apr_error(problem), directory
    return "", directory


SERVER_SETTERS: Final[dict[str, Setter]] = {
    "ErrorLog": set_text("error_log"),
    "ErrorLogFormat": set_error_log_format,
}
SETTERS: Final[dict[str, Setter]] = {"LogLevel": by_version(set_log_level_22, set_log_level)}
