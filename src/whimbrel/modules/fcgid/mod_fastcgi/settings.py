"""Settings of mod_fastcgi: FastCgiServer, FastCgiExternalServer and FastCgiConfig with their options."""

from __future__ import annotations

import os
from typing import Any, Final

from whimbrel.base.errors import ConfigError, MissingResource
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.numbers import atoi, is_digits, lower
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import words as split_words
from whimbrel.engine.runtime import Address
from whimbrel.registry.settings import setting


@dataclass(frozen=True, slots=True)
class FastcgiServer:
    """One application; *path* is the file that stands for it.

    Attributes:
        address: of an external application; None for a static one, which the server starts.
        processes, restart_delay, start_delay, queue, environment: of a static one.
        idle_timeout: seconds of silence. `connect_timeout`: seconds, 0 for no limit of its own.
        pass_headers: fields of the request that become variables.
        is_flushed: the client gets output as it arrives (-flush).
    """

    path: str
    address: Address | None = None
    processes: int = 1
    restart_delay: int = 5
    start_delay: int = 1
    queue: int = 100
    idle_timeout: int = 30
    connect_timeout: int = 0
    environment: tuple[tuple[str, str], ...] = ()
    pass_headers: tuple[str, ...] = ()
    is_flushed: bool = False


@dataclass(frozen=True, slots=True)
class DynamicConfig:
    """FastCgiConfig: applications that are started on demand."""

    most: int = 50
    most_of_class: int = 10
    least: int = 5
    kill_interval: int = 300
    idle_timeout: int = 30
    connect_timeout: int = 0
    environment: tuple[tuple[str, str], ...] = ()
    pass_headers: tuple[str, ...] = ()
    is_flushed: bool = False


@dataclass(slots=True)
class FastcgiServerConfig:
    """Settings of the whole server.

    Attributes:
        servers: by path. `dynamic`: FastCgiConfig. `ipc_dir`: FastCgiIpcDir.
    """

    servers: dict[str, FastcgiServer] = setting(make=dict)
    dynamic: DynamicConfig = setting(make=DynamicConfig)
    ipc_dir: str = setting("")


# option: field, or "" for one without effect here; number of arguments; least value of a number
_STATIC: Final[dict[str, tuple[str, int]]] = {
    "-processes": ("processes", 1),
    "-restart-delay": ("restart_delay", 0),
    "-init-start-delay": ("start_delay", 0),
    "-min-server-life": ("", 0),
    "-priority": ("", 0),
    "-listen-queue-depth": ("queue", 1),
    "-appconntimeout": ("connect_timeout", 0),
    "-idle-timeout": ("idle_timeout", 1),
    "-port": ("", 1),
}
_EXTERNAL: Final[dict[str, tuple[str, int]]] = {
    "-appconntimeout": ("connect_timeout", 0),
    "-idle-timeout": ("idle_timeout", 1),
}
_DYNAMIC: Final[dict[str, tuple[str, int]]] = {
    "-maxprocesses": ("most", 1),
    "-minprocesses": ("least", 0),
    "-maxclassprocesses": ("most_of_class", 1),
    "-killinterval": ("kill_interval", 1),
    "-updateinterval": ("", 1),
    "-gainvalue": ("", -1),
    "-singlethreshold": ("", 0),
    "-singlethreshhold": ("", 0),
    "-multithreshold": ("", 0),
    "-multithreshhold": ("", 0),
    "-startdelay": ("", 1),
    "-appconntimeout": ("connect_timeout", 0),
    "-idle-timeout": ("idle_timeout", 1),
    "-listen-queue-depth": ("", 1),
    "-restart-delay": ("", 0),
    "-init-start-delay": ("", 0),
    "-processslack": ("", 1),
}
# option: field, or "" for one without effect here
_FLAGS: Final = {"-flush": "is_flushed", "-restart": "", "-autoupdate": "", "-nph": ""}


class _Options:
    """Reads the options of one directive.

    Attributes:
        values: fields that were set. `rest`: options with a text, by name.
    """

    def __init__(self, label: str, numbers: dict[str, tuple[str, int]], texts: tuple[str, ...]) -> None:
        self.label = label
        self.numbers = numbers
        self.texts = texts
        self.values: dict[str, Any] = {}
        self.rest: dict[str, str] = {}

    def read(self, words: list[str]) -> None:
        """Read *words*. Raises ConfigError."""
        left = list(words)
        while left:
            option = left.pop(0)
            low = lower(option)
            if low in self.numbers:
                self._number(option, *self.numbers[low], left)
            elif low == "-initial-env" and "-initial-env" in self.texts:
                name, equals, value = self._argument(option, left).partition("=")
                pair = (name, value if equals else os.environ.get(name, ""))
                self.values["environment"] = (*self.values.get("environment", ()), pair)
            elif low == "-pass-header":
                header = self._argument(option, left)
                self.values["pass_headers"] = (*self.values.get("pass_headers", ()), header)
            elif low in self.texts:
                self.rest[low] = self._argument(option, left)
            elif low in _FLAGS:
                if _FLAGS[low]:
                    self.values[_FLAGS[low]] = True
            else:
                raise ConfigError(f"{self.label} invalid option: {option}")

    def _argument(self, option: str, left: list[str]) -> str:
        if not left:
            raise ConfigError(f'{self.label} invalid value for {option}: "\n"')
        return left.pop(0)

    def _number(self, option: str, field: str, least: int, left: list[str]) -> None:
        text = self._argument(option, left)
        if least >= 0 and not is_digits(text):
            raise ConfigError(f'{self.label} invalid value for {option}: "{text}" must be a positive integer')
        if least > 0 and atoi(text) < least:
            raise ConfigError(f'{self.label} invalid value for {option}: "{text}" must be >= {least}')
        if field:
            self.values[field] = atoi(text)


def _new(cmd: Command, words: list[str], what: str) -> tuple[str, list[str]]:
    """Return the path of a new application and the other words. Raises ConfigError."""
    parts = split_words(words[0])
    if not parts:
        raise ConfigError(f"{cmd.name} requires {what}")
    path = os.path.normpath(cmd.server_path(parts[0]))
    conf = cmd.main_server(FastcgiServerConfig)
    known = conf.servers if isinstance(conf.servers, dict) else {}
    if path in known:
        raise ConfigError(f'{cmd.name}: redefinition of previously defined class "{path}"')
    return path, parts[1:]


def _add(cmd: Command, server: FastcgiServer) -> None:
    conf = cmd.main_server(FastcgiServerConfig)
    known = conf.servers if isinstance(conf.servers, dict) else {}
    conf.servers = {**known, server.path: server}


def set_server(cmd: Command, _conf: FastcgiServerConfig, words: list[str]) -> None:
    """FastCgiServer: define an application that runs from the start."""
    path, rest = _new(cmd, words, "an application to start")
    if not os.access(to_bytes(path), os.X_OK) or os.path.isdir(to_bytes(path)):
        raise MissingResource(f'{cmd.name}: "{path}" access for server failed', matters=True)
    options = _Options(f"{cmd.name} {path}:", _STATIC, ("-initial-env", "-socket", "-user", "-group"))
    options.read(rest)
    _add(cmd, replace(FastcgiServer(path), **options.values))


def set_external(cmd: Command, _conf: FastcgiServerConfig, words: list[str]) -> None:
    """FastCgiExternalServer: define an application that something else starts."""
    path, rest = _new(cmd, words, "a path and either a -socket or -host option")
    label = f"{cmd.name} {path}:"
    options = _Options(label, _EXTERNAL, ("-host", "-socket", "-user", "-group"))
    options.read(rest)
    host = options.rest.get("-host")
    socket = options.rest.get("-socket")
    if host is not None and socket is not None:
        raise ConfigError(f"{label} -host and -socket are mutually exclusive options")
    if host is None and socket is None:
        raise ConfigError(f"{label} -socket or -host option missing")
    address: Address
    if host is not None:
        name, colon, port = host.rpartition(":")
        if not colon or not is_digits(port) or not 0 < atoi(port) < 65536:
            raise ConfigError(f'{label} invalid value for -host: "{host}"')
        address = (name, atoi(port))
    else:
        address = os.path.join(_ipc_dir(cmd), socket or "")
    _add(cmd, replace(FastcgiServer(path, address), **options.values))


def _ipc_dir(cmd: Command) -> str:
    conf = cmd.main_server(FastcgiServerConfig)
    given = conf.ipc_dir if isinstance(conf.ipc_dir, str) else ""
    return given or cmd.server_path("logs/fastcgi")


def set_dynamic(cmd: Command, _conf: FastcgiServerConfig, words: list[str]) -> None:
    """FastCgiConfig: set the options of applications that are started on demand."""
    options = _Options(f"{cmd.name}:", _DYNAMIC, ("-initial-env",))
    options.read(split_words(words[0]))
    conf = cmd.main_server(FastcgiServerConfig)
    present = conf.dynamic if isinstance(conf.dynamic, DynamicConfig) else DynamicConfig()
    conf.dynamic = replace(present, **options.values)


def set_wrapper(cmd: Command, _conf: FastcgiServerConfig, words: list[str]) -> None:
    """FastCgiWrapper: only Off; suexec starts no FastCGI applications here."""
    if lower(words[0]) != "off":
        raise ConfigError(f"{cmd.name}: suexec for FastCGI applications has no behaviour here")
