"""The MPMs: event, worker and prefork of 2.4, prefork of 2.2 (which also has User, Group and ChrootDir).

Whimbrel has one process model. The numbers are checked and corrected as in httpd, with its warnings, and
bound the number of workers. Manual: mod/mpm_common.html.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.base.static_typing import Any, Final
from whimbrel.config.configuration import Configuration
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter, Versions
from whimbrel.modules.mpm.listen import set_listen
from whimbrel.modules.mpm.settings import GROUP, USER, on_process, set_chroot
from whimbrel.modules.support.setters import by_version, set_in_range, set_number
from whimbrel.registry.module import Module


def positive(name: str) -> Setter:
    """Return a setter of a number above 0; *name* "" stores nothing."""
    return on_process(set_in_range(name, 1, None, "{name} must be > 0"))


def buffer_size(cmd: Command, _conf: MpmConfig, words: list[str]) -> None:
    """Check SendBufferSize or ReceiveBufferSize, which have no effect: the system's sizes apply."""
    value = atoi(words[0])
    if value < 512 and value != 0:
        raise ConfigError(f"{cmd.name} must be >= 512 bytes, or 0 for system default.")


def set_async_factor(_cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set AsyncRequestWorkerFactor: a positive decimal number."""
    try:
        value = float(words[0].strip(" ")) if "_" not in words[0] else None
    except ValueError:
        value = None
    if value is None:
        raise ConfigError("error parsing value")
    if value <= 0:
        raise ConfigError("AsyncRequestWorkerFactor argument must be a positive number")
    conf.async_factor = value


# 2.4: the numbers are checked after reading -----------------------------------------------------
@dataclass(frozen=True, slots=True)
class Kind:
    """Limits and defaults of one MPM of 2.4, and the number of its first warning."""

    name: str
    first_code: int
    max_servers: int
    server_limit: int
    max_threads: int = 0
    threads: int = 1
    max_workers: int = 400


_EVENT = Kind("event", 497, 20000, 16, 100000, 25)
_WORKER = Kind("worker", 300, 20000, 16, 20000, 25)
_PREFORK = Kind("prefork", 175, 200000, 256, max_workers=256)
_READ = "to avoid almost certain server failure. Please read the documentation."


class _Check:
    """Checks the numbers in httpd's order; warnings differ for the console and the log."""

    def __init__(self, configuration: Configuration, kind: Kind) -> None:
        self.configuration = configuration
        self.kind = kind
        self.conf: MpmConfig = configuration.main.config(MpmConfig)

    def warn(self, offset: int, text: str, logged: str) -> None:
        number = self.kind.first_code + offset
        self.configuration.warn(
            f"WARNING: {text}",
            code=f"AH{number:05}",
            level="startup",
            module=f"mpm_{self.kind.name}",
            logged=(f"AH{number + 1:05}", logged),
        )

    def at_least_one(self, offset: int, name: str, value: int, tail: str = "") -> int:
        if value >= 1:
            return value
        text = f"{name} of {value} not allowed, increasing to 1"
        self.warn(offset, text + (tail or "."), text)
        return 1

    def limit(self, offset: int, name: str, value: int, most: int, what: str) -> int:
        if value > most:
            text = f"{name} of {value} exceeds compile-time limit of {most}"
            self.warn(offset, f"{text} {what}, decreasing to {most}.", f"{text}, decreasing to match")
            return most
        return self.at_least_one(offset + 2, name, value)


def _given(value: int | None, default: int) -> int:
    return default if value is None else value


def check_threads(configuration: Configuration, kind: Kind) -> None:
    """Check the numbers as worker_check_config and event_check_config do."""
    check = _Check(configuration, kind)
    conf = check.conf
    servers = check.limit(
        0, "ServerLimit", _given(conf.server_limit, kind.server_limit), kind.max_servers, "servers"
    )
    conf.server_limit = servers
    limit = check.limit(5, "ThreadLimit", _given(conf.thread_limit, 64), kind.max_threads, "threads")
    conf.thread_limit = limit
    threads = _given(conf.threads_per_child, kind.threads)
    if threads > limit:
        text = f"ThreadsPerChild of {threads} exceeds ThreadLimit of {limit}"
        check.warn(
            10,
            f"{text} threads, decreasing to {limit}. To increase, please see the ThreadLimit directive.",
            f"{text}, decreasing to match",
        )
        threads = limit
    threads = check.at_least_one(12, "ThreadsPerChild", threads)
    conf.threads_per_child = threads
    conf.max_workers = _checked_workers(check, _given(conf.max_workers, kind.max_workers), threads, servers)
    if conf.start_servers is not None:
        conf.start_servers = check.at_least_one(20, "StartServers", conf.start_servers)
    if conf.min_spare is not None:
        conf.min_spare = check.at_least_one(22, "MinSpareThreads", conf.min_spare, f" {_READ}")


def _checked_workers(check: _Check, workers: int, threads: int, servers: int) -> int:
    if workers < threads:
        text = f"MaxRequestWorkers of {workers} is less than ThreadsPerChild of {threads}, increasing to"
        check.warn(
            14,
            f"{text} {threads}. MaxRequestWorkers must be at least as large as the number of threads in a "
            "single server.",
            f"{text} match",
        )
        workers = threads
    needed = workers // threads
    if workers % threads:
        lower = needed * threads
        text = (
            f"MaxRequestWorkers of {workers} is not an integer multiple of ThreadsPerChild of {threads}, "
            f"decreasing to nearest multiple {lower}"
        )
        check.warn(16, f"{text}, for a maximum of {needed} servers.", text)
        workers = lower
    if needed > servers:
        text = f"MaxRequestWorkers of {workers} would require {needed} servers and"
        end = f"exceed ServerLimit of {servers}, decreasing to"
        check.warn(
            18,
            f"{text} would {end} {servers * threads}. To increase, please see the ServerLimit directive.",
            f"{text} {end} {servers * threads}",
        )
        workers = servers * threads
    return workers


def check_prefork(configuration: Configuration) -> None:
    """Check the numbers as prefork_check_config does.

    2.2 has warned while reading; at its second reading a later ServerLimit applies to MaxClients too.
    """
    if not configuration.dialect.process_numbers_late:
        read: MpmConfig = configuration.main.config(MpmConfig)
        if read.server_limit and read.max_workers:
            read.max_workers = min(read.max_workers, read.server_limit)
        return
    check = _Check(configuration, _PREFORK)
    conf = check.conf
    servers = check.limit(0, "ServerLimit", _given(conf.server_limit, 256), _PREFORK.max_servers, "servers")
    conf.server_limit = servers
    workers = _given(conf.max_workers, _PREFORK.max_workers)
    if workers > servers:
        text = f"MaxRequestWorkers of {workers} exceeds ServerLimit value of {servers}"
        check.warn(
            5,
            f"{text} servers, decreasing MaxRequestWorkers to {servers}. To increase, please see the "
            "ServerLimit directive.",
            f"{text}, decreasing to match",
        )
        workers = servers
    conf.max_workers = check.at_least_one(7, "MaxRequestWorkers", workers)
    if conf.start_servers is not None:
        conf.start_servers = check.at_least_one(9, "StartServers", conf.start_servers)
    if conf.min_spare is not None:
        conf.min_spare = check.at_least_one(11, "MinSpareServers", conf.min_spare, f" {_READ}")


def checked_by(kind: Kind) -> Callable[[Any], None]:
    """Return the check of a threaded MPM as a check_config step."""
    return lambda configuration: check_threads(configuration, kind)


# 2.2: messages while reading, in several lines --------------------------------------------------
MAX_SERVERS_22 = 200000


def _warn_at_startup(cmd: Command, *lines: str) -> None:
    for line in lines:
        cmd.warn(line, level="startup")


def set_server_limit_22(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set ServerLimit: it applies to the MaxClients lines that follow."""
    value = atoi(words[0])
    if value > MAX_SERVERS_22:
        _warn_at_startup(
            cmd,
            f"WARNING: ServerLimit of {value} exceeds compile time limit of {MAX_SERVERS_22} servers,",
            f" lowering ServerLimit to {MAX_SERVERS_22}.",
        )
    elif value < 1:
        _warn_at_startup(cmd, "WARNING: Require ServerLimit > 0, setting to 1")
    conf.server_limit = max(1, min(value, MAX_SERVERS_22))


def set_max_clients_22(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set MaxClients: at most the ServerLimit set so far (256)."""
    value = atoi(words[0])
    limit = conf.server_limit if isinstance(conf.server_limit, int) else 256
    if value > limit:
        _warn_at_startup(
            cmd,
            f"WARNING: MaxClients of {value} exceeds ServerLimit value of {limit} servers,",
            f" lowering MaxClients to {limit}.  To increase, please see the ServerLimit",
            " directive.",
        )
    elif value < 1:
        _warn_at_startup(cmd, "WARNING: Require MaxClients > 0, setting to 1")
    conf.max_workers = max(1, min(value, limit))


def set_min_spare_22(cmd: Command, conf: MpmConfig, words: list[str]) -> None:
    """Set MinSpareServers: at least 1."""
    value = atoi(words[0])
    if value <= 0:
        _warn_at_startup(
            cmd,
            "WARNING: detected MinSpareServers set to non-positive.",
            "Resetting to 1 to avoid almost certain Apache failure.",
            "Please read the documentation.",
        )
    conf.min_spare = max(1, value)


_COMMON: Final[dict[str, Setter]] = {
    "Listen": set_listen,
    "ListenBacklog": positive("backlog"),
    "ListenCoresBucketsRatio": positive(""),
    "SendBufferSize": on_process(buffer_size),
    "ReceiveBufferSize": on_process(buffer_size),
    "ListenTCPDeferAccept": positive(""),
    "GracefulShutdownTimeout": on_process(set_number("graceful_timeout")),
    "StartServers": on_process(set_number("start_servers")),
}
_THREADED: Final[dict[str, Setter]] = {
    **_COMMON,
    "ServerLimit": on_process(set_number("server_limit")),
    "MinSpareThreads": on_process(set_number("min_spare")),
    "MaxSpareThreads": on_process(set_number("max_spare")),
    "MaxClients": on_process(set_number("max_workers")),
    "MaxRequestWorkers": on_process(set_number("max_workers")),
    "ThreadsPerChild": on_process(set_number("threads_per_child")),
    "ThreadLimit": on_process(set_number("thread_limit")),
}

EVENT = Module(
    name="mpm_event_module",
    source="event.c",
    versions=Versions.V24,
    check_config=(checked_by(_EVENT),),
    setters={**_THREADED, "AsyncRequestWorkerFactor": on_process(set_async_factor)},
)
WORKER = Module(
    name="mpm_worker_module",
    source="worker.c",
    versions=Versions.V24,
    check_config=(checked_by(_WORKER),),
    setters=_THREADED,
)
PREFORK = Module(
    name="mpm_prefork_module",
    source="prefork.c",
    check_config=(check_prefork,),
    setters={
        **_COMMON,
        "User": USER,
        "Group": GROUP,
        "ChrootDir": on_process(set_chroot),
        "MinSpareServers": by_version(on_process(set_min_spare_22), on_process(set_number("min_spare"))),
        "MaxSpareServers": on_process(set_number("max_spare")),
        "MaxClients": by_version(on_process(set_max_clients_22), on_process(set_number("max_workers"))),
        "MaxRequestWorkers": on_process(set_number("max_workers")),
        "ServerLimit": by_version(on_process(set_server_limit_22), on_process(set_number("server_limit"))),
    },
)
