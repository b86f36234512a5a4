"""Definition of workers and balancers by ProxyPass, BalancerMember, ProxySet and <Proxy>."""

from __future__ import annotations

from typing import NamedTuple

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import Any
from whimbrel.config.execute import root_relative
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.directives.command import Command
from whimbrel.http.syntax.target import split_url
from whimbrel.modules.proxy.mod_proxy.model import (
    BALANCER_PREFIX,
    ProxyBalancer,
    ProxyWorker,
    define_worker,
    find_balancer,
    find_worker,
    without_socket,
)
from whimbrel.modules.proxy.mod_proxy.parameters import set_balancer_parameter, set_worker_parameter
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.registry.settings import UNSET


class Parameter(NamedTuple):
    """One key=value word."""

    key: str
    value: str


def added(entries: Any, entry: Any) -> list[Any]:
    """Return the list setting *entries* with *entry*; the list is changed in place."""
    if entries is UNSET:
        return [entry]
    entries.append(entry)
    listed: list[Any] = entries
    return listed


def unique(parameters: list[Parameter]) -> list[Parameter]:
    """Return *parameters* with the last value of each key, at the place of the first (as an APR table)."""
    table: dict[str, Parameter] = {}
    for each in parameters:
        first = table.get(lower(each.key))
        table[lower(each.key)] = Parameter(first.key if first else each.key, each.value)
    return list(table.values())


# Balancers --------------------------------------------------------------------------------------
def names_balancer(url: str) -> bool:
    """Return True if *url* has the scheme of balancers."""
    return lower(url[:9]) == BALANCER_PREFIX[:9]


def obtain_balancer(cmd: Command, conf: ProxyServerConfig, url: str, alias: str = "") -> ProxyBalancer:
    """Return the balancer that *url* names; define it if there is none.

    *alias*: the URL path of ProxyPass. Raises ConfigError with httpd's message.
    """
    balancers = [] if conf.balancers is UNSET else conf.balancers
    balancer = find_balancer(balancers, url)
    if balancer is None:
        rest = url.partition(":")[2]
        if not rest.startswith("//") or len(rest) < 3:
            named = "" if cmd.dialect.proxy_22 else f" ({url})"
            raise ConfigError(f"Bad syntax for a balancer name{named}")
        if cmd.dialect.proxy_22 and not cmd.loaded("proxy_balancer_module"):
            raise ConfigError("Can't find 'byrequests' lb method")
        host = rest[2:].partition("/")[0]
        balancer = ProxyBalancer(lower(f"{url.partition(':')[0]}://{host}"))
        conf.balancers = added(conf.balancers, balancer)
    parts = split_url(alias) if alias else None
    if parts is not None:
        balancer.path, balancer.host = parts.path or balancer.path, parts.hostname or balancer.host
    return balancer


# Workers ----------------------------------------------------------------------------------------
def socket_path(cmd: Command, url: str) -> str:
    """Return the absolute path of the Unix socket in ``unix:PATH|URL``, "" without one."""
    before, bar, _ = url.partition("|")
    if lower(before[:5]) != "unix:" or not bar:
        return ""
    directory = cmd.main_server(MpmConfig).run_directory
    return root_relative(cmd.server_path("logs") if directory is UNSET else directory, before[5:])


def defined(cmd: Command, conf: ProxyServerConfig, url: str, *, is_match: bool = False) -> ProxyWorker:
    """Return a new worker for *url*, ``unix:`` part included, with the buffer sizes and the timeout that the
    server has so far; raises ConfigError with httpd's message.
    """
    path = socket_path(cmd, url) if not cmd.dialect.proxy_22 else ""
    try:
        worker = define_worker(
            url.partition("|")[2] if path else url,
            path,
            is_match=is_match,
            may_lack_name=cmd.dialect.proxy_22,
        )
    except ConfigError as problem:
        if not cmd.dialect.proxy_22:
            raise ConfigError(problem.reason.partition(": ")[0] + f": {url}") from None
        raise ConfigError("URL must be absolute!") from None
    for name, value in (
        ("timeout", conf.timeout),
        ("iobuffersize", conf.io_buffer_size),
        ("receivebuffersize", conf.receive_buffer_size),
    ):
        if value is not UNSET:
            setattr(worker.parameters, name, value)
            worker.parameters.given.add(name)
    return worker


def obtain_worker(
    cmd: Command, conf: ProxyServerConfig, url: str, *, is_match: bool = False
) -> tuple[ProxyWorker, bool]:
    """Return the worker of the server for *url*, and True if there was one before."""
    workers = [] if conf.workers is UNSET else conf.workers
    by_regex = is_match and not cmd.dialect.proxy_22
    real = without_socket(url) or url
    if not cmd.dialect.proxy_22:
        worker = find_worker(workers, real, prefixes=not by_regex, matches=by_regex)
    else:
        worker = find_worker(workers, real)
    if worker is not None:
        return worker, True
    worker = defined(cmd, conf, url, is_match=by_regex)
    conf.workers = added(conf.workers, worker)
    return worker, False


def obtain_member(
    cmd: Command, conf: ProxyServerConfig, balancer: ProxyBalancer, url: str
) -> tuple[ProxyWorker, bool]:
    """Return *balancer*'s member for *url*, and True if it was there; in 2.2 a worker of the server."""
    if cmd.dialect.proxy_22:
        worker, is_shared = obtain_worker(cmd, conf, url)
        if worker not in balancer.members:
            balancer.members.append(worker)
            worker.balancer = worker.balancer or balancer
        return worker, is_shared
    found = find_worker(balancer.members, without_socket(url) or url)
    if found is not None:
        return found, True
    worker = defined(cmd, conf, url)
    worker.balancer = balancer
    balancer.members.append(worker)
    return worker, False


def configure_worker(
    cmd: Command, worker: ProxyWorker, parameters: list[Parameter], is_shared: bool, codes: tuple[str, str]
) -> None:
    """Set *parameters*; 2.4 ignores those of a shared worker with a warning, of which *codes* has the
    numbers: of sharing, and of a parameter.
    """
    for key, value in parameters:
        if is_shared and not cmd.dialect.proxy_22:
            cmd.warn(
                f"Ignoring parameter '{key}={value}' for worker '{worker.printed}' because of worker sharing",
                code=codes[1],
            )
        else:
            set_worker_parameter(cmd, worker, key, value)


def warn_of_sharing(cmd: Command, worker: ProxyWorker, url: str, code: str) -> None:
    """Log that *url* has the worker of an earlier line."""
    text = f"Sharing worker '{worker.printed}' instead of creating new worker '{url}'"
    if cmd.dialect.proxy_22:
        text = f"worker {worker.name} already used by another worker"
    cmd.warn(text, code=code, level="info")


def configure_balancer(cmd: Command, balancer: ProxyBalancer, parameters: list[Parameter]) -> None:
    """Set *parameters* of *balancer*."""
    for key, value in parameters:
        set_balancer_parameter(cmd, balancer, key, value)
