"""Interface between mod_auth_*, mod_authn_* and mod_authz_*: results, providers, AuthType and AuthName.

Results are httpd's enumerations (authn_status, authz_status).  A provider's `make` runs once for each
distinct merged configuration.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.execute import CommandContext
from whimbrel.config.model import Layer
from whimbrel.directives.command import Command
from whimbrel.engine.expressions import StringExpression
from whimbrel.expr.errors import EvalError
from whimbrel.modules.core.access_22 import escape_quotes
from whimbrel.registry.module import Reads, Scope
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


class Authn:
    """authn_status: what a provider finds."""

    DENIED: Final = 0
    GRANTED: Final = 1
    USER_FOUND: Final = 2
    USER_NOT_FOUND: Final = 3
    GENERAL_ERROR: Final = 4


class Authz:
    """authz_status: the results of authorization checks."""

    DENIED: Final = 0
    GRANTED: Final = 1
    NEUTRAL: Final = 2
    GENERAL_ERROR: Final = 3
    DENIED_NO_USER: Final = 4


PasswordCheck = Callable[["Request", str, str], Awaitable[int]]
RealmHash = Callable[["Request", str, str], Awaitable[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class BoundAuthn:
    """An authentication provider bound to a merged configuration.

    Attributes:
        password: (request, user, password) to an authn_status
        realm_hash: (request, user, realm) to AUTH_USER_FOUND and MD5(user:realm:password); None where the
            provider has no such hashes
    """

    password: PasswordCheck
    realm_hash: RealmHash | None = None
    reads: Reads = Reads.HEAD | Reads.FILES


@dataclass(frozen=True, slots=True)
class AuthnProvider:
    """The entry that a module registers under ("authn", NAME).

    *realms*: the provider stores hashes of user, realm and password.  *name* and *place* are those of the
    directive that names the provider.
    """

    make: Callable[[Scope], BoundAuthn]
    realms: bool = True
    name: str = ""
    place: SourceLocation | None = None


_AUTHN_WORDS: Final = {
    Authn.DENIED: "denied",
    Authn.GRANTED: "granted",
    Authn.USER_FOUND: "user found",
    Authn.USER_NOT_FOUND: "user not found",
    Authn.GENERAL_ERROR: "general error",
}


def ready_authn(scope: Scope, provider: AuthnProvider) -> BoundAuthn:
    """Bind *provider* to a merged configuration; with decisions traced, each call is a step of the tree."""
    from whimbrel.engine.explain.decisions import tracer_of  # -t makes no hooks

    hook = provider.make(scope)
    watch = tracer_of(scope)
    if watch is None:
        return hook
    what = f"provider {provider.name or 'file'}"
    password = watch.wrap(
        hook.password, True, what, provider.place, lambda r, result: (_AUTHN_WORDS[result], "")
    )
    if hook.realm_hash is None:
        return replace(hook, password=password)
    verify = watch.wrap(
        hook.realm_hash, True, what, provider.place, lambda r, result: (_AUTHN_WORDS[result[0]], "")
    )
    return replace(hook, password=password, realm_hash=verify)


CheckFn = Callable[["Request"], int] | Callable[["Request"], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class AuthzCheck:
    """An authorization check bound to a merged configuration.

    *fn* returns an authz_status; *waits*: it is `async def`; *result*: the status, if it is constant.
    """

    fn: CheckFn
    reads: Reads = Reads.HEAD
    waits: bool = False
    result: int | None = None


@dataclass(frozen=True, slots=True)
class AuthzProvider:
    """The entry that a module registers under ("authz", NAME).

    *parse* gets the command and the text after the name in a Require line and returns the value that *make*
    needs; it raises ConfigError.  *make* gets the merged configuration, that text and the parsed value.
    *joined*, if set, merges the parsed values of several lines into one that grants where any of them grants.
    """

    make: Callable[[Scope, str, Any], AuthzCheck]
    parse: Callable[[Command, str], Any] | None = None
    joined: Callable[[list[Any]], Any] | None = None


CacheSink = Callable[["Request", str, str, str], Awaitable[None]]
"""Stores a credential (user, realm or "", stored password) in the cache of mod_authn_socache."""


def cache_sink(scope: Scope, name: str) -> CacheSink | None:
    """Return the function that stores credentials found by provider *name*; None if nothing is cached."""
    make = scope.provider("authn_cache", "storing")
    return make(scope, name) if make is not None else None


def with_layer(scope: Scope, layer: Layer) -> Scope:
    """Return *scope* with *layer* merged over it: the scope of an aliased provider."""
    merge: Callable[[Layer], Scope] = scope.with_layer  # type: ignore[attr-defined]
    return merge(layer)


def state_of(cmd: Command) -> CommandContext:
    """Return the command with the context that containers need: the configuration being read."""
    assert isinstance(cmd, CommandContext)
    return cmd


def without_behaviour(cmd: Command, module: str | None) -> bool:
    """Record that the directive needs *module*, which is loaded but not implemented, so that the start stops;
    return False if it is not loaded.
    """
    if module is None or not cmd.loaded(module):
        return False
    if not cmd.in_htaccess:
        state_of(cmd).configuration.unimplemented.append((cmd.node, module))
    return True


@dataclass(slots=True)
class AuthnCoreDirConfig:
    """Per-directory settings of mod_authn_core (2.4); the aliases are per-server."""

    auth_type: StringExpression | None = setting(None)
    auth_name: StringExpression | None = setting(None)


def _evaluated(value: StringExpression, r: Request, name: str, code: str) -> str | None:
    """Return the string for this request; None, after logging, if it cannot be evaluated."""
    try:
        return value.text(r, "authn_core")
    except EvalError as problem:
        r.log(
            "error",
            f"{name} expression could not be evaluated: {problem.reason}",
            code=code,
            module="authn_core",
        )
        return None


def auth_type(scope: Scope) -> Callable[[Request], str | None]:
    """Return the function that computes the request's authentication type (ap_auth_type); None means none."""
    if scope.dialect.access_in_core:
        written = scope.dir_config(CoreDirConfig).auth_type
        return lambda r: written
    value = scope.dir_config(AuthnCoreDirConfig).auth_type
    if value is None:
        return lambda r: None
    constant = value.fixed
    if constant is None:
        return lambda r: _not_none(_evaluated(value, r, "AuthType", "AH02834"))
    fixed = _not_none(constant)
    return lambda r: fixed


def may_have_auth_type(scope: Scope, name: str | None = None) -> bool:
    """Return False if no request has the authentication type *name*, in lower case (None: any)."""
    if scope.dialect.access_in_core:
        kind = scope.dir_config(CoreDirConfig).auth_type
    else:
        value = scope.dir_config(AuthnCoreDirConfig).auth_type
        if value is not None and value.fixed is None:
            return True
        kind = None if value is None else _not_none(value.fixed)
    return kind is not None and name in (None, kind.lower())


def has_no_auth_type(scope: Scope) -> bool:
    """Return True if no AuthType is set (2.4)."""
    return not scope.dialect.access_in_core and scope.dir_config(AuthnCoreDirConfig).auth_type is None


def _not_none(kind: str | None) -> str | None:
    return None if kind is None or kind.lower() == "none" else kind


def auth_name(scope: Scope) -> Callable[[Request], str | None]:
    """Return the function that computes the request's realm with escaped quotes (ap_auth_name)."""
    if scope.dialect.access_in_core:
        written = scope.dir_config(CoreDirConfig).auth_name
        return lambda r: written
    value = scope.dir_config(AuthnCoreDirConfig).auth_name
    if value is None:
        return lambda r: None
    constant = value.fixed
    if constant is None:

        def evaluated(r: Request) -> str | None:
            name = _evaluated(value, r, "AuthName", "AH02835")
            return None if name is None else escape_quotes(name)

        return evaluated
    fixed = escape_quotes(constant)
    return lambda r: fixed


def environment(r: Request, name: str) -> str | None:
    """Return a variable of the request's environment; like APR's tables, it ignores case."""
    text = r.env.get(name)
    if text is not None or not r.env or getattr(r.env, "folded", False):
        return text
    low = name.lower()
    return next((value for key, value in r.env.items() if key.lower() == low), None)


def denied_path(r: Request) -> str:
    """Return the path that the log names as denied: the file, or the URL if there is no file."""
    return r.filename if r.filename else f"uri {r.uri}"
