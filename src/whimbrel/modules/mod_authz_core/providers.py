"""The providers of mod_authz_core itself: all, env, method, expr.

Manual: mod/mod_authz_core.html#requiredirectives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whimbrel.directives.command import Command
from whimbrel.directives.words import words
from whimbrel.errors import ConfigError
from whimbrel.modules.auth_api import DENIED, GENERAL_ERROR, GRANTED, AuthzProvider, Check, compile_text, environment, state_of, without_behaviour
from whimbrel.modules.core.strings import Template
from whimbrel.registry.methods import INVALID
from whimbrel.registry.module import Provider, Reads, Scope
from whimbrel.request.record import Request


def require_words(text: str) -> list[str]:
    """The words of a Require line's arguments; an empty word ends them, as in all of httpd's providers."""
    found = words(text)
    return found[:found.index("")] if "" in found else found


def require_text(_cmd: Command, args: str) -> Template:
    """The arguments as a string expression, for providers that expand variables on each request."""
    return compile_text(args, "Cannot parse expression in require line")


def parse_all(_cmd: Command, args: str) -> bool:
    """"granted" or "denied" as a bool."""
    word = args.lower()
    if word not in ("granted", "denied"):
        raise ConfigError("Argument for 'Require all' must be 'granted' or 'denied'")
    return word == "granted"


def make_all(_scope: Scope, _args: str, granted: bool) -> Check:
    """Everybody or nobody."""
    result = GRANTED if granted else DENIED
    return Check(lambda r: result, Reads.NOTHING)


def make_env(_scope: Scope, args: str, _parsed: Any) -> Check:
    """Requests with one of the environment variables."""
    names = require_words(args)
    return Check(lambda r: GRANTED if any(environment(r, name) is not None for name in names) else DENIED)


def parse_method(cmd: Command, args: str) -> int:
    """The mask of the methods named."""
    mask, methods = 0, state_of(cmd).configuration.methods
    for name in require_words(args):
        number = methods.number(name)
        if number == INVALID:
            raise ConfigError(f"Invalid Method '{name}'")
        mask |= 1 << number
    return mask


def make_method(_scope: Scope, _args: str, mask: int) -> Check:
    """Requests with one of the methods; HEAD counts as GET."""
    def check(r: Request) -> int:
        return GRANTED if mask >> r.method_number & 1 else DENIED

    return Check(check)


def parse_expr(cmd: Command, args: str) -> None:
    """Stop the start (and let nobody in from .htaccess): expressions have no behaviour here, their syntax is not looked at."""
    if not args.strip(' "'):
        raise ConfigError("Cannot parse expression in require line: syntax error, unexpected $end")
    without_behaviour(cmd, "mod_authz_core.c")


def refuse(why: str) -> Callable[[Scope, str, Any], Check]:
    """The *make* of a provider that can't decide: every request fails."""
    def check(r: Request) -> int:
        r.log("error", why, module="authz_core")
        return GENERAL_ERROR

    return lambda _scope, _args, _parsed: Check(check)


PROVIDERS = (
    Provider("authz", "all", AuthzProvider(make_all, parse_all)),
    Provider("authz", "env", AuthzProvider(make_env)),
    Provider("authz", "method", AuthzProvider(make_method, parse_method)),
    Provider("authz", "expr", AuthzProvider(refuse("Require expr has no behaviour here"), parse_expr)),
)
