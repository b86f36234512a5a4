"""Authentication as a symbolic decision: the check_user_id hooks of both versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whimbrel.access.atoms import HasCredentials, KnownUser, PasswordValid
from whimbrel.access.environment import ProviderAlias
from whimbrel.access.outcomes import Outcomes, choose_outcomes, constant, first, if_else
from whimbrel.access.query import AccessQuery
from whimbrel.access.ssl_conditions import is_refused_strictly
from whimbrel.modules.aaa import mod_auth_basic, mod_auth_digest, mod_authn_core, mod_authn_default
from whimbrel.modules.aaa.mod_auth_basic import AuthBasicDirConfig
from whimbrel.modules.aaa.mod_auth_digest.settings import AuthDigestDirConfig
from whimbrel.modules.aaa.mod_authn_core import AuthnCoreServerConfig
from whimbrel.modules.aaa.mod_authn_dbm import AuthnDbmDirConfig
from whimbrel.modules.aaa.mod_authn_default import AuthnDefaultDirConfig
from whimbrel.modules.aaa.mod_authn_file import AuthnFileDirConfig
from whimbrel.modules.support.auth.auth_api import Authn, AuthnProvider
from whimbrel.registry.phases import CHECK_USER_ID, DECLINED, OK

# Directives that configure the users of a provider without a model.
_PROVIDER_DIRECTIVES: Final = {"anon": ("anonymous",), "dbd": ("authdbd",), "ldap": ("authldap",)}
Hook = Callable[[AccessQuery], Outcomes]


def check_user(query: AccessQuery) -> Outcomes:
    """Return the outcomes of the phase check_user_id."""
    hooks = (_HOOKS.get(hook.make) for hook in query.settings.plans.hooks[CHECK_USER_ID.index])
    # mod_ssl's hook is the first of all (APR_HOOK_FIRST)
    return first(
        query.space,
        [_strict(query), _third_party(query), *(hook(query) for hook in hooks if hook is not None)],
        DECLINED,
    )


def _strict(query: AccessQuery) -> Outcomes:
    """SSLOptions +StrictRequire: what mod_ssl's access checker refused stays refused beside Satisfy Any."""
    return if_else(query.space, is_refused_strictly(query), 403, DECLINED)


def has_user(query: AccessQuery) -> bool:
    """Return the condition under which authentication succeeds and sets a user."""
    return query.auth_type() is not None


# the hooks ----------------------------------------------------------------------------------------
def _basic(query: AccessQuery) -> Outcomes:
    if query.auth_type() != "basic":
        return constant(query.space, DECLINED)
    realm = query.auth_name()
    if realm is None:
        return constant(query.space, 500)
    settings = query.dir_config(AuthBasicDirConfig)
    sends = query.variable(HasCredentials("basic"))
    result = _authn_status(query, settings.providers, "basic", realm if settings.digest else "")
    answers = {Authn.GRANTED: OK, Authn.DENIED: 401, Authn.USER_NOT_FOUND: 401, Authn.GENERAL_ERROR: 500}
    if not settings.authoritative:
        answers |= {Authn.USER_NOT_FOUND: DECLINED, Authn.GENERAL_ERROR: DECLINED}
    return choose_outcomes(
        query.space, sends, result.map_values(answers.__getitem__), constant(query.space, 401)
    )


def _digest(query: AccessQuery) -> Outcomes:
    if query.auth_type() != "digest":
        return constant(query.space, DECLINED)
    realm = query.auth_name()
    if realm is None:
        return constant(query.space, 500)
    sends = query.variable(HasCredentials("digest"))
    result = _authn_status(query, query.dir_config(AuthDigestDirConfig).providers, "digest", realm)
    answers = {Authn.GRANTED: OK, Authn.GENERAL_ERROR: 500}
    return choose_outcomes(
        query.space,
        sends,
        result.map_values(lambda value: answers.get(value, 401)),
        constant(query.space, 401),
    )


def _third_party(query: AccessQuery) -> Outcomes:
    """An AuthType of a third party or of mod_auth_form: without credentials the outcome is a challenge,
    otherwise it is opaque. A module may accept passwords of AuthType Basic too, before httpd's own."""
    kind = query.auth_type()
    if kind == "basic" and query.settings.may_register("user", "basic"):
        area = f"third party {query.auth_name()} {query.lines('auth')}"
        return if_else(
            query.space,
            query.variable(HasCredentials(kind)) & query.variable(PasswordValid(kind, area)),
            OK,
            DECLINED,
        )
    is_third_party = query.settings.foreign or (kind == "form" and query.plan.loaded("auth_form_module"))
    if kind in (None, "basic", "digest") or not is_third_party:
        return constant(query.space, DECLINED)
    assert kind is not None
    area = f"{kind} {query.auth_name()} {query.lines('auth')}"
    return if_else(
        query.space, query.variable(HasCredentials(kind)) & query.variable(PasswordValid(kind, area)), OK, 401
    )


def _no_user(query: AccessQuery) -> Outcomes:
    return constant(query.space, OK if query.auth_type() is None else 500)


def _default(query: AccessQuery) -> Outcomes:
    refuses = query.auth_type() is not None and query.dir_config(AuthnDefaultDirConfig).authoritative
    return constant(query.space, 401 if refuses else DECLINED)


_DIGEST: Final = next(hook.make for hook in mod_auth_digest.MODULE.hooks if hook.phase is CHECK_USER_ID)
_HOOKS: Final[dict[Any, Hook]] = {
    mod_auth_basic.make_authenticate: _basic,
    _DIGEST: _digest,
    mod_authn_core.make_no_user: _no_user,
    mod_authn_default.make_check: _default,
}


# providers ----------------------------------------------------------------------------------------
def _authn_status(query: AccessQuery, providers: list[AuthnProvider], scheme: str, realm: str) -> Outcomes:
    """Return the authn_status of the first provider that knows the user; stored hashes include the realm if
    *realm* is set."""
    default = query.plan.provider("authn", "file")
    bound_providers = providers or ([default] if default is not None else [])
    if not bound_providers:
        return constant(query.space, Authn.GENERAL_ERROR)
    return first(
        query.space,
        [_provider(query, provider, scheme, realm) for provider in bound_providers],
        Authn.USER_NOT_FOUND,
    )


def _provider(query: AccessQuery, provider: AuthnProvider, scheme: str, realm: str) -> Outcomes:
    name = _name(query, provider)
    alias = query.settings.aliases["authnprovideralias"].get(name)
    if alias is not None:
        return _aliased(query, alias, scheme, realm)
    return _provider_status(query, name, scheme, realm)


def _aliased(query: AccessQuery, alias: ProviderAlias, scheme: str, realm: str) -> Outcomes:
    outer = query.settings.aliases["authnprovideralias"].get(alias.base)
    inner = query.with_alias(alias)
    return (
        _aliased(inner, outer, scheme, realm)
        if outer is not None
        else _provider_status(inner, alias.base, scheme, realm)
    )


def _name(query: AccessQuery, provider: AuthnProvider) -> str:
    """Return the name of the provider: the argument of AuthBasicProvider."""
    if getattr(provider, "name", ""):
        return str(provider.name)
    server = query.settings.configuration.main.records.get(AuthnCoreServerConfig)
    aliases = server.aliases if server is not None and isinstance(server.aliases, dict) else {}
    all_providers = {**query.settings.configuration.modules.providers("authn"), **aliases}
    return next((name for name, value in all_providers.items() if value is provider), "ldap")


def _provider_status(query: AccessQuery, name: str, scheme: str, realm: str) -> Outcomes:
    """Return the authn_status of one provider with its merged settings."""
    if name == "socache":
        # mod_authn_socache: it knows the users of the providers that it caches
        return constant(query.space, Authn.USER_NOT_FOUND)
    area = _area(query, name)
    if area is None:
        return constant(query.space, Authn.GENERAL_ERROR)
    area += f" realm {realm}" if realm else ""
    known = query.variable(KnownUser(scheme, area))
    right = query.variable(PasswordValid(scheme, area))
    return choose_outcomes(
        query.space,
        known,
        if_else(query.space, right, Authn.GRANTED, Authn.DENIED),
        constant(query.space, Authn.USER_NOT_FOUND),
    )


def _area(query: AccessQuery, name: str) -> str | None:
    """Return the users of the provider as normalized text; None if the text does not show them."""
    if name == "file":
        file = query.dir_config(AuthnFileDirConfig).file
        return None if file is None or query.unreadable(file.path) else query.file_source(file.path)
    if name == "dbm":
        settings = query.dir_config(AuthnDbmDirConfig)
        return (
            None
            if not settings.path or query.unreadable_dbm(settings.path, settings.kind)
            else query.dbm_source(settings.path, settings.kind)
        )
    return f"{name} {query.lines(*_PROVIDER_DIRECTIVES.get(name, ('authn', f'auth{name}')))}"
