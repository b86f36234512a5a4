"""The providers of mod_authz_core: all, env, method, expr.

Manual: mod/mod_authz_core.html#requiredirectives.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import TYPE_CHECKING, Any
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import words
from whimbrel.engine.expressions import StringExpression, evaluate, read_condition, read_string, reads_of
from whimbrel.expr.errors import EvalError
from whimbrel.expr.library import USER
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider, environment, state_of
from whimbrel.registry.methods import INVALID
from whimbrel.registry.module import Provider, Reads, Scope

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.expr.api import CompiledCondition


def require_words(text: str) -> list[str]:
    """Split the arguments of a Require line; an empty argument ends them, as in all of httpd's providers."""
    args = words(text)
    return args[: args.index("")] if "" in args else args


def require_text(cmd: Command, args: str) -> StringExpression:
    """Return the arguments as a string expression, for providers that expand variables on each request."""
    return read_string(cmd, args, "Cannot parse expression in require line")


def expanded(r: Request, names: StringExpression, module: str, what: str, code: str) -> str | None:
    """Evaluate a `require_text` for this request; None, after logging, on failure."""
    try:
        return names.text(r, module)
    except EvalError as problem:
        r.log(
            "error",
            f"{module} authorize: require {what}: Can't evaluate require expression: {problem.reason}",
            code=code,
            module=module,
        )
        return None


def parse_all(_cmd: Command, args: str) -> bool:
    """Parse "granted" or "denied" to a bool."""
    word = args.lower()
    if word not in ("granted", "denied"):
        raise ConfigError("Argument for 'Require all' must be 'granted' or 'denied'")
    return word == "granted"


def make_all(_scope: Scope, _args: str, granted: bool) -> AuthzCheck:
    """Require all: grant or deny every request."""
    result = Authz.GRANTED if granted else Authz.DENIED
    return AuthzCheck(lambda r: result, Reads.NOTHING, result=result)


def make_env(_scope: Scope, args: str, _parsed: object) -> AuthzCheck:
    """Require env: grant requests with one of the environment variables."""
    names = require_words(args)
    return AuthzCheck(
        lambda r: Authz.GRANTED if any(environment(r, name) is not None for name in names) else Authz.DENIED,
        Reads.FIELDS,
    )


def parse_method(cmd: Command, args: str) -> int:
    """Return the mask of the methods named."""
    mask = 0
    methods = state_of(cmd).configuration.methods
    for name in require_words(args):
        number = methods.number(name)
        if number == INVALID:
            raise ConfigError(f"Invalid Method '{name}'")
        mask |= 1 << number
    return mask


def make_method(_scope: Scope, _args: str, mask: int) -> AuthzCheck:
    """Require method: grant requests with one of the methods; HEAD counts as GET."""

    def check(r: Request) -> int:
        return Authz.GRANTED if mask >> r.method_number & 1 else Authz.DENIED

    return AuthzCheck(check, Reads.FIELDS)


def parse_expr(cmd: Command, args: str) -> CompiledCondition:
    """Parse the condition; quotes around all of it are removed, nothing in it is unescaped."""
    if len(args) > 1 and args[0] == args[-1] == '"':
        args = args[1:-1]
    return read_condition(cmd, args, "Cannot parse expression in require line")


def make_expr(_scope: Scope, _args: str, condition: CompiledCondition) -> AuthzCheck:
    """Require expr: grant requests for which the condition holds; one that reads the user may hold later."""
    refusal = Authz.DENIED_NO_USER if USER in condition.reads else Authz.DENIED

    def check(r: Request) -> int:
        try:
            return Authz.GRANTED if evaluate(r, condition, "authz_core") else refusal
        except EvalError as problem:
            r.log(
                "error",
                f"Error evaluating expression in 'Require expr': {problem.reason}",
                code="AH02320",
                module="authz_core",
            )
            return Authz.GENERAL_ERROR

    return AuthzCheck(check, reads_of(condition.reads))


def refuse(why: str) -> Callable[[Scope, str, Any], AuthzCheck]:
    """Return the *make* of a provider that cannot decide: every request fails."""

    def check(r: Request) -> int:
        r.log("error", why, module="authz_core")
        return Authz.GENERAL_ERROR

    return lambda _scope, _args, _parsed: AuthzCheck(check)


PROVIDERS = (
    Provider("authz", "all", AuthzProvider(make_all, parse_all)),
    Provider("authz", "env", AuthzProvider(make_env)),
    Provider("authz", "method", AuthzProvider(make_method, parse_method)),
    Provider("authz", "expr", AuthzProvider(make_expr, parse_expr)),
)
