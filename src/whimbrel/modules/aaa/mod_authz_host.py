"""mod_authz_host: access by address or host name.

2.4: Require ip, host, forward-dns, local; 2.2: Order, Allow, Deny.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.net import InvalidNetwork, Network, Networks, numeric_address, parse_written
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.engine.explain.decisions import tracer_of
from whimbrel.engine.expressions import StringExpression
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.aaa.allow_deny import (
    AllowDenyDirConfig,
    allow_deny_setters,
    compile_denied,
    traced_check,
)
from whimbrel.modules.aaa.mod_authz_core.providers import expanded, require_text, require_words
from whimbrel.modules.core.access_22 import auth_required, satisfies
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider
from whimbrel.modules.support.reverse_dns import client_address, compared_address, confirmed_name, in_domain
from whimbrel.registry.module import CompiledHook, Hook, Module, Provider, Reads, Scope
from whimbrel.registry.phases import ACCESS_CHECKER, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("authz_host")


# 2.4 ----------------------------------------------------------------------------------------------
def parse_ip(_cmd: Command, args: str) -> Networks:
    """Parse the networks."""
    words = require_words(args)
    if not words:
        raise ConfigError("'require ip' requires an argument")
    networks = []
    for word in words:
        try:
            networks.append(parse_written(word))
        except InvalidNetwork as problem:
            reason = f": {problem.reason}" if problem.reason else ""
            raise ConfigError(f"ip address '{word}' appears to be invalid{reason}") from None
    return Networks(networks)


def make_ip(_scope: Scope, _args: str, networks: Networks) -> AuthzCheck:
    """Require ip: grant clients in one of the networks."""
    return AuthzCheck(lambda r: Authz.GRANTED if r.client_in(networks) else Authz.DENIED, Reads.FIELDS)


def make_host(_scope: Scope, args: str, domains: StringExpression) -> AuthzCheck:
    """Require host: grant clients whose confirmed name is one of the domains or a subdomain."""

    async def check(r: Request) -> int:
        name = await confirmed_name(r)
        if name is None:
            _log(
                r,
                "error",
                "AH01753",
                f"access check of '{args}' to {r.uri} failed, reason: unable to get the remote host name",
            )
            return Authz.DENIED
        text = expanded(r, domains, "authz_host", "host", "AH02593")
        if text is None:
            return Authz.DENIED
        words, comment, _ = text.partition("#")
        if comment:
            _complain_of_comment(r, text, only=not words)
        return (
            Authz.GRANTED if any(in_domain(domain, name) for domain in require_words(words)) else Authz.DENIED
        )

    return AuthzCheck(check, Reads.CLIENT | Reads.UNCACHEABLE | Reads.HEAD, waits=True)


def _complain_of_comment(r: Request, text: str, *, only: bool) -> None:
    if only:
        _log(
            r,
            "error",
            "AH10120",
            f"authz_host authorize: dubious empty 'Require host {text}' with only comment",
        )
    else:
        _log(r, "warn", "AH10121", f"authz_host authorize: ignoring comment in 'Require host {text}'")


def make_forward_dns(_scope: Scope, _args: str, names: StringExpression) -> AuthzCheck:
    """Require forward-dns: grant clients whose address one of the names resolves to."""

    async def check(r: Request) -> int:
        client = numeric_address(compared_address(r))
        r.set_uncacheable()
        text = expanded(r, names, "authz_host", "forward-dns", "AH03354")
        for name in require_words((text or "").partition("#")[0]):
            addresses = await r.engine.runtime.resolve(name)
            if not addresses:
                _log(r, "warn", "AH03356", f'No sockaddr info for "{name}"')
                continue
            matches = client in map(numeric_address, addresses)
            verdict = "yes" if matches else "no"
            _log(r, "debug", "AH03355", f"access check for {client_address(r)} as '{name}': {verdict}")
            if matches:
                return Authz.GRANTED
        return Authz.DENIED

    return AuthzCheck(check, Reads.CLIENT | Reads.UNCACHEABLE | Reads.HEAD, waits=True)


_LOOPBACK = Networks([parse_written("127.0.0.0/8"), parse_written("::1")])


def make_local(_scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
    """Require local: grant loopback addresses, and clients whose address is the server's."""

    def check(r: Request) -> int:
        return (
            Authz.GRANTED
            if r.client_in(_LOOPBACK) or r.client_in(_the_same(r.connection.local_ip))
            else Authz.DENIED
        )

    return AuthzCheck(check, Reads.FIELDS)


@lru_cache(maxsize=256)
def _the_same(address: str) -> Networks:
    """Return the set of one address."""
    v6, number = numeric_address(address)
    return Networks([Network(v6, number, (1 << (128 if v6 else 32)) - 1)] if number >= 0 else [])


# 2.2 ----------------------------------------------------------------------------------------------
def make_access22(scope: Scope) -> CompiledHook | None:
    """Order, Allow and Deny of 2.2; no line if Satisfy Any and a Require line may still grant."""
    if not scope.dialect.access_in_core:
        return None
    record = scope.dir_config(AllowDenyDirConfig)
    always = scope.dialect.satisfy_any_logs
    denied, reads, waits = compile_denied(record)

    def answer(r: Request, refused: bool) -> HookStatus:
        if not refused:
            return OK
        if always or satisfies(r) != "any" or not auth_required(r):
            _log(r, "error", "", f"client denied by server configuration: {r.filename}")
        return 403

    async def check_waiting(r: Request) -> HookStatus:
        return answer(r, await denied(r))

    fn, pausing = traced_check(
        record, check_waiting if waits else lambda r: answer(r, denied(r)), tracer_of(scope), waits
    )
    return CompiledHook(fn, reads, pausing)


MODULE = Module(
    name="authz_host_module",
    source="mod_authz_host.c",
    dir_config=AllowDenyDirConfig,
    dir_setters=allow_deny_setters(),
    hooks=(Hook(ACCESS_CHECKER, make_access22),),
    providers=(
        Provider("authz", "ip", AuthzProvider(make_ip, parse_ip, Networks.union), Versions.V24),
        Provider("authz", "host", AuthzProvider(make_host, require_text), Versions.V24),
        Provider("authz", "forward-dns", AuthzProvider(make_forward_dns, require_text), Versions.V24),
        Provider("authz", "local", AuthzProvider(make_local), Versions.V24),
    ),
)
