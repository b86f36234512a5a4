"""Arguments of mod_wsgi's directives: ``name=value`` pairs behind the first words, and WSGIDaemonProcess.

Messages and limits are those of 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from whimbrel.base.accounts import group_numbered, user_numbered
from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.numbers import atoi, strtol
from whimbrel.base.static_typing import Any, Final
from whimbrel.config.mpm_config import group_id, user_id
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import getword
from whimbrel.modules.mpm.settings import unknown

BLANKS: Final = " \t\n\v\f\r"
GLOBAL: Final = "%{GLOBAL}"
WSGI: Final = "wsgi"
ASGI: Final = "asgi"
MAX_THREADS: Final = 65533
BAD_DAEMON: Final = "Invalid option to WSGI daemon process definition."
BAD_PROCESS_GROUP: Final = "Invalid name for WSGI process group."
BAD_APPLICATION_GROUP: Final = "Invalid name for WSGI application group."


@dataclass(frozen=True, slots=True)
class DaemonProcess:
    """A process group: one WSGIDaemonProcess line.

    Attributes:
        server_name: ServerName of the virtual host of the line, as far as it was read; "" for none.
        is_virtual: the line stands in a virtual host.
        processes: their number; `is_multiprocess`: the line states it.
        user, group, supplementary: names, "" and () for those of the server.
        umask: -1 for that of the server.
        *_timeout, restart_interval: seconds, 0 for none.
        memory_limit, virtual_memory_limit: bytes, 0 for none.
        application_type: WSGI, or ASGI, which is an option of Whimbrel's own.
        script_user, script_group: names that must own a script and its directory.
    """

    name: str
    server_name: str = ""
    is_virtual: bool = False
    processes: int = 1
    is_multiprocess: bool = False
    threads: int = 15
    user: str = ""
    group: str = ""
    supplementary: tuple[str, ...] = ()
    umask: int = -1
    chroot: str = ""
    home: str = ""
    lang: str = ""
    locale: str = ""
    python_home: str = ""
    python_path: str = ""
    python_eggs: str = ""
    stack_size: int = 0
    maximum_requests: int = 0
    startup_timeout: int = 0
    shutdown_timeout: int = 5
    deadlock_timeout: int = 300
    inactivity_timeout: int = 0
    request_timeout: int = 0
    graceful_timeout: int = 0
    eviction_timeout: int = 0
    restart_interval: int = 0
    connect_timeout: int = 15
    socket_timeout: int = 0
    queue_timeout: int = 0
    listen_backlog: int = 100
    display_name: str = ""
    send_buffer_size: int = 0
    receive_buffer_size: int = 0
    header_buffer_size: int = 0
    response_buffer_size: int = 0
    response_socket_timeout: int = 0
    socket_user: str = ""
    script_user: str = ""
    script_group: str = ""
    cpu_time_limit: int = 0
    cpu_priority: int = 0
    memory_limit: int = 0
    virtual_memory_limit: int = 0
    server_metrics: bool = False
    application_type: str = WSGI
    newrelic_config_file: str = ""
    newrelic_environment: str = ""


def options(text: str, message: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of *text*; a value may be quoted. Raises ConfigError(*message*)."""
    while text:
        text = text.lstrip(BLANKS)
        end = next((at for at, char in enumerate(text) if char == "=" or char in BLANKS), len(text))
        if not end or text[end : end + 1] != "=":
            raise ConfigError(message)
        name = text[:end]
        value, text = getword(text[end + 1 :])
        yield name, value


def named(value: str, message: str) -> str:
    """Return the name of a group; raises ConfigError for an empty one."""
    if not value:
        raise ConfigError(message)
    return value


def without_global(name: str) -> str:
    """Return "" for %{GLOBAL}."""
    return "" if name == GLOBAL else name


def authorization_flag(value: str) -> bool:
    """Return the value of pass-authorization."""
    if value.lower() not in ("on", "off"):
        raise ConfigError("Invalid value for authorization flag.")
    return value.lower() == "on"


# WSGIDaemonProcess ----------------------------------------------------------------------------------
Read = Callable[[Command, str], Any]


def _filled(what: str, value: str) -> str:
    if not value:
        raise ConfigError(f"Invalid {what} for WSGI daemon process.")
    return value


def _count(what: str, least: int = 0, most: int | None = None) -> Read:
    """Return the reader of a number as C's atoi reads it."""

    def read(_cmd: Command, value: str) -> int:
        number = atoi(_filled(what, value))
        if number < least or (most is not None and number > most):
            raise ConfigError(f"Invalid {what} for WSGI daemon process.")
        return number

    return read


def _buffer(what: str, least: int, default: str) -> Read:
    def read(_cmd: Command, value: str) -> int:
        number = atoi(_filled(f"{what} buffer size", value))
        if number and number < least:
            raise ConfigError(
                f"{what.capitalize()} buffer size must be >= {least} bytes, or 0 for {default}."
            )
        return number

    return read


def _text(_cmd: Command, value: str) -> str:
    return value


def _umask(_cmd: Command, value: str) -> int:
    number, rest = strtol(_filled("umask", value), 8)
    if rest or not 0 <= number < 1 << 63:
        raise ConfigError("Invalid umask for WSGI daemon process.")
    return number


def _directory(what: str) -> Read:
    def read(_cmd: Command, value: str) -> str:
        if not value.startswith("/"):
            raise ConfigError(f"Invalid {what} directory for WSGI daemon process.")
        return value

    return read


def _priority(_cmd: Command, value: str) -> int:
    return atoi(_filled("CPU priority", value))


def _metrics(_cmd: Command, value: str) -> bool:
    if value.lower() not in ("on", "off"):
        raise ConfigError("Invalid server metrics flag for WSGI daemon process.")
    return value.lower() == "on"


def _type(_cmd: Command, value: str) -> str:
    if value not in (WSGI, ASGI):
        raise ConfigError("Invalid application type for WSGI daemon process.")
    return value


def _user_number(cmd: Command, name: str) -> int:
    number = user_id(name)
    if number is None:
        raise unknown(cmd, "AH00543", f"bad user name {name}")
    return number


def _group_number(cmd: Command, name: str) -> int:
    number = group_id(name)
    if number is None:
        raise unknown(cmd, "AH00544", f"bad group name {name}")
    return number


def _user(what: str, unnamed: str) -> Read:
    """Return the reader of a user name, or the number of a user; *unnamed*: the refusal of others."""

    def read(cmd: Command, value: str) -> str:
        number = _user_number(cmd, _filled(what, value))
        if what == "user" and number == 0:
            raise ConfigError("WSGI process blocked from running as root.")
        if not value.startswith("#"):
            return value
        try:
            return user_numbered(number).pw_name
        except (KeyError, OverflowError):
            raise ConfigError(unnamed) from None

    return read


def _group(cmd: Command, value: str) -> str:
    _group_number(cmd, _filled("group", value))
    return value


def _script_group(cmd: Command, value: str) -> str:
    number = _group_number(cmd, _filled("script group", value))
    if not value.startswith("#"):
        return value
    try:
        return group_numbered(number).gr_name
    except (KeyError, OverflowError):
        raise ConfigError("Couldn't determine gid from script group.") from None


def _supplementary(cmd: Command, value: str) -> tuple[str, ...]:
    names = tuple(value.partition(",,")[0].split(",")) if value else ()
    names = names[:-1] if names and not names[-1] else names
    for name in names:
        _group_number(cmd, name)
    return names


# by option: the field if it has another name, and the reader of its value
_READERS: Final[Mapping[str, Read]] = {
    "user": _user("user", "Couldn't determine user name from uid."),
    "group": _group,
    "supplementary-groups": _supplementary,
    "processes": _count("process count", 1),
    "threads": _count("thread count", 0, MAX_THREADS),
    "umask": _umask,
    "chroot": _directory("chroot"),
    "home": _directory("home"),
    "lang": _text,
    "locale": _text,
    "python-home": _text,
    "python-path": _text,
    "python-eggs": _text,
    "stack-size": _count("stack size", 1),
    "maximum-requests": _count("request count"),
    "startup-timeout": _count("startup timeout"),
    "shutdown-timeout": _count("shutdown timeout"),
    "deadlock-timeout": _count("deadlock timeout"),
    "inactivity-timeout": _count("inactivity timeout"),
    "request-timeout": _count("request timeout"),
    "graceful-timeout": _count("graceful timeout"),
    "eviction-timeout": _count("eviction timeout"),
    "restart-interval": _count("restart interval"),
    "connect-timeout": _count("connect timeout"),
    "socket-timeout": _count("socket timeout"),
    "queue-timeout": _count("queue timeout"),
    "listen-backlog": _count("listen backlog"),
    "display-name": _text,
    "send-buffer-size": _buffer("send", 512, "system default"),
    "receive-buffer-size": _buffer("receive", 512, "system default"),
    "header-buffer-size": _buffer("header", 8192, "default"),
    "response-buffer-size": _buffer("response", 65536, "default"),
    "response-socket-timeout": _count("response socket timeout"),
    "socket-user": _user("socket user", "Couldn't determine user name from socket user."),
    "script-user": _user("script user", "Couldn't determine uid from script user."),
    "script-group": _script_group,
    "cpu-time-limit": _count("CPU time limit"),
    "cpu-priority": _priority,
    "memory-limit": _count("memory limit"),
    "virtual-memory-limit": _count("virtual memory limit"),
    "server-metrics": _metrics,
    "application-type": _type,
    "newrelic-config-file": _text,
    "newrelic-environment": _text,
}
_FIELDS: Final = {"supplementary-groups": "supplementary"}


def daemon_process(cmd: Command, text: str) -> DaemonProcess:
    """Return the process group of a WSGIDaemonProcess line. Raises ConfigError."""
    name, rest = getword(text)
    if not name:
        raise ConfigError("Name of WSGI daemon process not supplied.")
    values: dict[str, Any] = {}
    for option, value in options(rest, BAD_DAEMON):
        read = _READERS.get(option)
        if read is None:
            raise ConfigError(BAD_DAEMON)
        values[_FIELDS.get(option) or option.replace("-", "_")] = read(cmd, value)
    if values.get("script_user") and values.get("script_group"):
        raise ConfigError("Only one of script-user and script-group allowed.")
    if not values.get("response_socket_timeout"):
        values["response_socket_timeout"] = values.get("socket_timeout", 0)
    found = DaemonProcess(name, cmd.server_name, cmd.in_virtual_host, is_multiprocess="processes" in values)
    return replace(found, **values)
