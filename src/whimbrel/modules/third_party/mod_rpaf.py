"""mod_rpaf: the client's address, host and port as reported by a proxy in front.

The names of 0.6 (``RPAFenable``) and of 0.7 and later (``RPAF_Enable``) are accepted beside each other; a
server with one of the latter follows 0.8. Of httpd 2.4, 0.6 changes the connection's address only: %h,
%{c}a and access control have the client's, REMOTE_ADDR and %a keep the proxy's. A virtual host with a line
of its own inherits nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import InvalidNetwork, Network, Networks, numeric_address, parse_written
from whimbrel.base.numbers import atoi, strip
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.tokens import get_token
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import DECLINED, LOG_TRANSACTION, POST_READ_REQUEST, HookStatus
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.request import Request

_FORWARDED: Final = "X-Forwarded-For"
_HOSTS: Final = ("X-Forwarded-Host", "X-Host")
_PORTS: Final = ("X-Forwarded-Port", "X-Port")
_SECURE: Final = ("X-Forwarded-HTTPS", "X-HTTPS")
_SCHEMES: Final = ("X-Forwarded-Proto", "X-Forwarded-Protocol")
_IP_CHARACTERS: Final = re.compile(r"[0-9./]+|[0-9a-f:/.]+")
_HOST: Final = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?")


@dataclass(slots=True)
class RpafServerConfig:
    """Per-server settings; *is_new*: a directive of 0.7 or later was used."""

    is_on: bool = setting(False)
    is_new: bool = setting(False)
    sets_host: bool = setting(False)
    sets_https: bool = setting(False)
    sets_port: bool = setting(False)
    forbids: bool = setting(False)
    cleans: bool = setting(False)
    header: str = setting("")
    proxies: tuple[str, ...] = setting(())


# setters ------------------------------------------------------------------------------------------
def _begin(cmd: Command, conf: RpafServerConfig) -> None:
    """Give a server's first line a record of its own: mod_rpaf merges nothing."""
    if conf.is_on is UNSET:
        conf.is_on = False
        conf.is_new = False
        conf.sets_host = False
        conf.sets_https = False
        conf.sets_port = False
        conf.forbids = False
        conf.cleans = False
        conf.header = ""
        conf.proxies = ()
    conf.is_new = conf.is_new or cmd.name[4] == "_"


def _flag(field: str) -> Setter:
    def apply(cmd: Command, conf: RpafServerConfig, words: list[str]) -> None:
        _begin(cmd, conf)
        setattr(conf, field, words[0].lower() == "on")

    return apply


def set_header(cmd: Command, conf: RpafServerConfig, words: list[str]) -> None:
    """Set the field that names the client."""
    _begin(cmd, conf)
    conf.header = words[0]


def add_proxy(cmd: Command, conf: RpafServerConfig, words: list[str]) -> None:
    """Add a trusted proxy: 0.6 compares texts, 0.7 and later networks."""
    _begin(cmd, conf)
    if cmd.name[4] == "_" and _network(words[0]) is None:
        raise ConfigError(
            f"mod_rpaf: Error parsing IP {words[0]} in {cmd.name}. Failed basic parsing."
            if _IP_CHARACTERS.fullmatch(words[0]) is None
            else f"mod_rpaf: Error parsing IP {words[0]} in {cmd.name}. The specified IP address is invalid."
        )
    conf.proxies = (*conf.proxies, words[0])


def _network(text: str) -> Network | None:
    try:
        return parse_written(text)
    except InvalidNetwork:
        return None


def _is_address(text: str) -> bool:
    return numeric_address(text)[1] >= 0


# the address --------------------------------------------------------------------------------------
def _tokens(value: str) -> list[str]:
    """Return the parts of a field between commas and semicolons (ap_get_token)."""
    found = []
    while value:
        token, value = get_token(value, with_blanks=True)
        found.append(token.rstrip(" \t"))
        value = value[1:]
    return found


def old_client(value: str, proxies: frozenset[str]) -> str | None:
    """Return the last part of the field that is no proxy, else the first part: any text; None without one."""
    tokens = _tokens(value)
    for token in reversed(tokens[1:]):
        if token not in proxies:
            return token
    return tokens[0] if tokens else None


def new_client(value: str, proxies: Networks) -> str | None:
    """Return the last address of the field that is no proxy, else the first valid one; None without one."""
    client = None
    for part in reversed([strip(part) for part in value.split(",")]):
        if _IP_CHARACTERS.fullmatch(part) is None or not _is_address(part):
            continue
        client = part
        if part not in proxies:
            break
    return client


def _first(r: Request, names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := r.headers_in.get(name)) is not None), None)


def _change_old(r: Request, client: str) -> None:
    """Replace the address as 0.6 does: of 2.2 everything reads it; of 2.4 the connection alone has it."""
    connection = r.connection
    if not r.plan.dialect.messages_24:
        connection.useragent_ip, connection.user_port = client, connection.client_port
        return
    connection.useragent_ip, connection.user_port = connection.client_ip, connection.client_port
    connection.peer_addr = client if _is_address(client) else connection.client_ip
    connection.set_client(client)


def _restore(connection: Connection) -> None:
    """Give the connection its own address back."""
    if connection.peer_addr:
        connection.set_client(connection.useragent_ip)
        connection.peer_addr = ""
    proxied = connection.proxied
    connection.useragent_ip = "" if proxied is None else proxied[0]


def _set_host(r: Request) -> HookStatus:
    """Take the host from the proxy, and choose the virtual host by it; 400 for a text that is no host."""
    value = _first(r, _HOSTS)
    if value is None:
        return DECLINED
    tokens = _tokens(value)
    host = _HOST.fullmatch(tokens[-1]) if tokens else None
    if host is None:
        return 400
    r.headers_in.set("Host", tokens[-1].lower().removesuffix("."))
    r.hostname = host[1].lower().removesuffix(".")
    if host[2]:
        r.port = atoi(host[2])
    hosts = r.engine.configuration.hosts
    if hosts is not None:
        candidates = hosts.find(r.connection.local_ip, r.connection.local_port)
        r.server = candidates.by_name(r.hostname) or candidates.server
        r.plan = r.engine.plans.root(r.server)
    return DECLINED


def _set_rest(r: Request, conf: RpafServerConfig) -> None:
    """Set HTTPS and the port, and remove the fields, as 0.7 and later do."""
    if conf.sets_https:
        value = _first(r, _SECURE)
        if value in ("on", "On") or (value is None and _first(r, _SCHEMES) == "https"):
            r.env["HTTPS"] = "on"
    if conf.sets_port:
        port = _first(r, _PORTS)
        r.port = atoi(port) or None if port is not None else None
    if conf.cleans:
        for name in (conf.header or _FORWARDED, *_HOSTS, *_SECURE, *_SCHEMES, *_PORTS):
            r.headers_in.unset(name)


# hooks --------------------------------------------------------------------------------------------
def make_change(scope: Scope) -> CompiledHook | None:
    """Make the hook that changes the address of requests of the proxies."""
    conf = scope.server_config(RpafServerConfig)
    if not conf.is_on:
        return None
    names = (conf.header, _FORWARDED) if conf.header else (_FORWARDED,)
    proxies: Any
    client_of: Callable[[str, Any], str | None]
    if conf.is_new:
        written = map(_network, conf.proxies)
        proxies = Networks([network for network in written if network is not None])
        client_of = new_client
    else:
        proxies = frozenset(conf.proxies)
        client_of = old_client
    is_new = conf.is_new
    refusal = 403 if conf.forbids else DECLINED

    def change(r: Request) -> HookStatus:
        if r.prev is not None:
            return DECLINED
        _restore(r.connection)
        if not r.client_in(proxies):
            return refusal
        value = _first(r, names)
        client = None if value is None else client_of(value, proxies)
        if client is None:
            return DECLINED
        r.set_uncacheable()
        r.headers_in = r.headers_in.copy()
        if is_new:
            r.connection.useragent_ip, r.connection.user_port = client, r.connection.client_port
        else:
            _change_old(r, client)
        status = _set_host(r) if conf.sets_host else DECLINED
        _set_rest(r, conf)
        return status

    return CompiledHook(change)


def make_reset(_scope: Scope) -> CompiledHook:
    """Make the hook that resets the address before the next request on the connection, also where the proxy
    has chosen a virtual host without such lines.
    """

    def reset(r: Request) -> HookStatus:
        _restore(r.connection)
        return DECLINED

    return CompiledHook(reset)


MODULE = Module(
    name="rpaf_module",
    source="mod_rpaf-2.0.c",
    server_config=RpafServerConfig,
    server_setters={
        "RPAFenable": _flag("is_on"),
        "RPAFsethostname": _flag("sets_host"),
        "RPAFproxy_ips": add_proxy,
        "RPAFheader": set_header,
        "RPAF_Enable": _flag("is_on"),
        "RPAF_SetHostName": _flag("sets_host"),
        "RPAF_SetHTTPS": _flag("sets_https"),
        "RPAF_SetPort": _flag("sets_port"),
        "RPAF_ForbidIfNotProxy": _flag("forbids"),
        "RPAF_CleanHeaders": _flag("cleans"),
        "RPAF_ProxyIPs": add_proxy,
        "RPAF_Header": set_header,
    },
    hooks=(
        Hook(POST_READ_REQUEST, make_change, Order.FIRST),
        Hook(LOG_TRANSACTION, make_reset, Order.REALLY_LAST),
    ),
)
