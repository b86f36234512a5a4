"""mod_authn_core: AuthType, AuthName and aliases of authentication providers (2.4)."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.configuration import AUTHENTICATION
from whimbrel.config.model import Layer, SectionKind
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context, Versions
from whimbrel.directives.tokens import getword
from whimbrel.engine.expressions import read_string
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.support.auth.auth_api import (
    Authn,
    AuthnCoreDirConfig,
    AuthnProvider,
    BoundAuthn,
    auth_name,
    auth_type,
    state_of,
    with_layer,
    without_behaviour,
)
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import CHECK_USER_ID, OK, HookStatus
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("authn_core")


@dataclass(slots=True)
class AuthnCoreServerConfig:
    """Per-server settings: aliases by name."""

    aliases: dict[str, AuthnProvider] = setting(make=dict)


def set_text(field: str) -> Callable[[Command, AuthnCoreDirConfig, list[str]], None]:
    """Return the setter of a string expression."""

    def apply(cmd: Command, record: AuthnCoreDirConfig, words: list[str]) -> None:
        state_of(cmd).configuration.declare(AUTHENTICATION, cmd.name)
        setattr(
            record, field, read_string(cmd, words[0], f"Cannot parse expression '{words[0]}' in {cmd.name}")
        )

    return apply


def find_provider(cmd: Command, name: str) -> AuthnProvider:
    """Return the authentication provider or alias *name* (case-sensitive).  Raises ConfigError."""
    aliases = cmd.main_server(AuthnCoreServerConfig).aliases
    provider: AuthnProvider | None = (None if aliases is UNSET else aliases.get(name)) or cmd.provider(
        "authn", name
    )
    if provider is None:
        is_elsewhere = state_of(cmd).has_provider_elsewhere("authn", name)
        has_stand_in = is_elsewhere or without_behaviour(cmd, _ELSEWHERE.get(name))
        if not has_stand_in:
            raise ConfigError(f"Unknown Authn provider: {name}")
        return AuthnProvider(lambda scope: BoundAuthn(_unknown))
    return replace(provider, name=name, place=cmd.place)


# Providers of modules that may be loaded although they are not implemented.
_ELSEWHERE: Final = {
    "anon": "mod_authn_anon.c",
    "dbd": "mod_authn_dbd.c",
    "dbm": "mod_authn_dbm.c",
    "ldap": "mod_authnz_ldap.c",
    "socache": "mod_authn_socache.c",
}


async def _unknown(r: Request, _user: str, _password: str) -> int:
    _log(r, "error", "", "AuthBasicProvider has no behaviour here")
    return Authn.GENERAL_ERROR


def alias(cmd: Command, _record: object, words: list[str]) -> None:
    """<AuthnProviderAlias BASE NAME>: the provider BASE with the settings inside."""
    args, bracket, _ = words[0].rpartition(">")
    if not bracket:
        raise ConfigError(f"{cmd.name}> directive missing closing '>'")
    base, rest = getword(args)
    name, rest = getword(rest)
    if not base or not name:
        raise ConfigError(f"{cmd.name}> directive requires additional arguments")
    if base.lower() == name.lower():
        raise ConfigError("The alias provider name must be different from the base provider name.")
    server = cmd.main_server(AuthnCoreServerConfig)
    aliases = {} if server.aliases is UNSET else server.aliases
    if name in aliases or cmd.provider("authn", name) is not None:
        raise ConfigError(
            f"The alias provider {name} has already be registered previously as either a base provider or an "
            "alias provider."
        )
    layer = Layer(SectionKind.DIRECTORY, cmd.place)
    state_of(cmd).execute_in(layer, "", int(Context.OR_AUTHCFG | Context.ACCESS_CONF))
    provider = find_provider(cmd, base)
    state_of(cmd).configuration.declare("authn", name)
    provider_alias = AuthnProvider(lambda scope: provider.make(with_layer(scope, layer)), provider.realms)
    server.aliases = {**aliases, name: provider_alias}


def make_no_user(scope: Scope) -> CompiledHook:
    """Final check_user_id hook: OK without authentication, 500 if no module has the type."""
    kind = auth_type(scope)

    def check(r: Request) -> HookStatus:
        auth_type_name = kind(r)
        if auth_type_name is None:
            return OK
        _log(r, "error", "AH01796", f"AuthType {auth_type_name} configured without corresponding module")
        return 500

    return CompiledHook(check, Reads.FIELDS)


MODULE = Module(
    name="authn_core_module",
    source="mod_authn_core.c",
    versions=Versions.V24,
    dir_config=AuthnCoreDirConfig,
    server_config=AuthnCoreServerConfig,
    dir_setters={
        "AuthType": set_text("auth_type"),
        "AuthName": set_text("auth_name"),
    },
    setters={
        "<AuthnProviderAlias": alias,
    },
    hooks=(Hook(CHECK_USER_ID, make_no_user, Order.LAST),),
    providers=(
        Provider("access", "auth_type", lambda r: auth_type(r.plan)(r)),
        Provider("access", "auth_name", lambda r: auth_name(r.plan)(r)),
        Provider("aliases", "authn", lambda main: main.config(AuthnCoreServerConfig).aliases),
    ),
)
