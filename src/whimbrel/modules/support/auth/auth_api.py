"""What the modules of authentication and authorization share: results, providers, the type and name of an area.

Results are httpd's enumerations (authn_status, authz_status).  A provider's `make` runs once for each distinct merged configuration.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.execute import CommandContext
from whimbrel.config.model import Layer
from whimbrel.directives.command import Command
from whimbrel.engine.explain.decisions import tracer_of
from whimbrel.engine.expressions import StringExpression
from whimbrel.expr.errors import EvalError
from whimbrel.modules.core.access_22 import escape_quotes
from whimbrel.registry.module import Reads, Scope
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

# authn_status
AUTH_DENIED: Final = 0
AUTH_GRANTED: Final = 1
AUTH_USER_FOUND: Final = 2
AUTH_USER_NOT_FOUND: Final = 3
AUTH_GENERAL_ERROR: Final = 4

# authz_status
DENIED: Final = 0
GRANTED: Final = 1
NEUTRAL: Final = 2
GENERAL_ERROR: Final = 3
DENIED_NO_USER: Final = 4

PasswordCheck = Callable[["Request", str, str], Awaitable[int]]
RealmHash = Callable[["Request", str, str], Awaitable[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class BoundAuthn:
    """A ready authentication provider: *password* (request, user, password) gives an authn_status; *realm_hash* (request, user, realm) gives
    AUTH_USER_FOUND and MD5(user:realm:password), None where the provider knows no such hashes."""

    password: PasswordCheck
    realm_hash: RealmHash | None = None
    reads: Reads = Reads.HEAD | Reads.FILES


@dataclass(frozen=True, slots=True)
class AuthnProvider:
    """What a module registers under ("authn", NAME); *realms*: it knows hashes of user, realm and password.  *name* and *place* are those of the
    directive that asks for it."""

    make: Callable[[Scope], BoundAuthn]
    realms: bool = True
    name: str = ""
    place: SourceLocation | None = None


_AUTHN_WORDS: Final = {
    AUTH_DENIED: "denied",
    AUTH_GRANTED: "granted",
    AUTH_USER_FOUND: "user found",
    AUTH_USER_NOT_FOUND: "user not found",
    AUTH_GENERAL_ERROR: "general error",
}


def ready_authn(scope: Scope, provider: AuthnProvider) -> BoundAuthn:
    """The provider made for a merged configuration; a step of the decision tree where decisions are told."""
    hook, watch = provider.make(scope), tracer_of(scope)
    if watch is None:
        return hook
    what = f"provider {provider.name or 'file'}"
    password = watch.wrap(
        hook.password, True, what, provider.place, lambda r, result: (_AUTHN_WORDS[result], "")
    )
    if hook.realm_hash is None:
        return replace(hook, password=password)
    found = watch.wrap(
        hook.realm_hash, True, what, provider.place, lambda r, result: (_AUTHN_WORDS[result[0]], "")
    )
    return replace(hook, password=password, realm_hash=found)


CheckFn = Callable[["Request"], int] | Callable[["Request"], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class AuthzCheck:
    """A ready authorization check: *fn* gives an authz_status; *waits* where it is `async def`; *result* is one that is always the same."""

    fn: CheckFn
    reads: Reads = Reads.HEAD
    waits: bool = False
    result: int | None = None


@dataclass(frozen=True, slots=True)
class AuthzProvider:
    """What a module registers under ("authz", NAME).

    *parse* gets the command and the text after the name in a Require line and gives what *make* needs; it raises ConfigError.  *make* gets the
    merged configuration, that text and the parsed value.  *joined*, where it is set, makes of the parsed values of several lines the one that grants
    where any of them grants.
    """

    make: Callable[[Scope, str, Any], AuthzCheck]
    parse: Callable[[Command, str], Any] | None = None
    joined: Callable[[list[Any]], Any] | None = None


def cache_sink(scope: Scope, name: str) -> Callable[[Request, str, str, str], None]:
    """What the provider *name* tells of a user it found (user, realm or "", stored password): mod_authn_socache may keep it."""
    make = scope.provider("authn_cache", "storing")
    found: Callable[[Request, str, str, str], None] | None = make(scope, name) if make is not None else None
    return found if found is not None else lambda r, user, realm, stored: None


def with_layer(scope: Scope, layer: Layer) -> Scope:
    """*scope* with *layer* laid over it: what an aliased provider sees."""
    merge: Callable[[Layer], Scope] = scope.with_layer  # type: ignore[attr-defined]
    return merge(layer)


def state_of(cmd: Command) -> CommandContext:
    """The command with what only containers need: the configuration that is being read."""
    assert isinstance(cmd, CommandContext)
    return cmd


def without_behaviour(cmd: Command, module: str | None) -> bool:
    """Note that the directive needs *module*, which is loaded but has no behaviour: the start then stops; False where it isn't even loaded."""
    if module is None or not cmd.loaded(module):
        return False
    if not cmd.in_htaccess:
        state_of(cmd).configuration.unimplemented.append((cmd.node, module))
    return True


@dataclass(slots=True)
class AuthnCoreDirConfig:
    """Per-directory settings of mod_authn_core (2.4); the aliases belong to the server."""

    auth_type: StringExpression | None = setting(None)
    auth_name: StringExpression | None = setting(None)


def _evaluated(value: StringExpression, r: Request, name: str, code: str) -> str | None:
    """The string for this request; None, logged, where it can't be evaluated."""
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
    """What finds the request's authentication type (ap_auth_type); None: no authentication."""
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


def has_no_auth_type(scope: Scope) -> bool:
    """Whether no AuthType is set, in 2.4."""
    return not scope.dialect.access_in_core and scope.dir_config(AuthnCoreDirConfig).auth_type is None


def _not_none(kind: str | None) -> str | None:
    return None if kind is None or kind.lower() == "none" else kind


def auth_name(scope: Scope) -> Callable[[Request], str | None]:
    """What finds the request's realm, quotes escaped (ap_auth_name)."""
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
    """A variable of the request's environment; httpd's tables have no regard to case."""
    found = r.env.get(name)
    if found is not None or not r.env or getattr(r.env, "folded", False):
        return found
    low = name.lower()
    return next((value for key, value in r.env.items() if key.lower() == low), None)


def denied_path(r: Request) -> str:
    """How the log names what was denied: the file, or the URL where there is none."""
    return r.filename if r.filename else f"uri {r.uri}"
