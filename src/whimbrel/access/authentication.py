"""Who the client is, symbolically: the check_user_id hooks of both versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whimbrel.access.asking import Asking
from whimbrel.access.atoms import KnownUser, RightPassword, Sends
from whimbrel.access.cases import Cases, always, chosen, either, first
from whimbrel.access.merged import Alias
from whimbrel.modules import mod_auth_basic, mod_auth_digest, mod_authn_core, mod_authn_default
from whimbrel.modules.auth_api import AUTH_DENIED, AUTH_GENERAL_ERROR, AUTH_GRANTED, AUTH_USER_NOT_FOUND, AuthnProvider
from whimbrel.modules.mod_auth_basic import AuthBasicSettings
from whimbrel.modules.mod_auth_digest.settings import AuthDigestSettings
from whimbrel.modules.mod_authn_core import AuthnCoreServer
from whimbrel.modules.mod_authn_dbm import AuthnDbmSettings
from whimbrel.modules.mod_authn_default import AuthnDefaultSettings
from whimbrel.modules.mod_authn_file import AuthnFileSettings
from whimbrel.registry.phases import CHECK_USER_ID, DECLINED, OK

# Lines that tell a provider without a model whom it knows.
_TOLD: Final = {"anon": ("anonymous",), "dbd": ("authdbd",), "ldap": ("authldap",)}
Hook = Callable[[Asking], Cases]


def check_user(ask: Asking) -> Cases:
    """The answer of the phase check_user_id."""
    hooks = (_HOOKS.get(hook.make) for hook in ask.settings.plans.hooks[CHECK_USER_ID.index])
    return first(ask.space, [_unmodelled(ask), *(hook(ask) for hook in hooks if hook is not None)], DECLINED)


def has_user(ask: Asking) -> bool:
    """Whether a user is there once authentication has gone well."""
    return ask.auth_type() is not None


# the hooks ----------------------------------------------------------------------------------------
def _basic(ask: Asking) -> Cases:
    if ask.auth_type() != "basic":
        return always(ask.space, DECLINED)
    realm = ask.auth_name()
    if not realm:
        return always(ask.space, 500)
    settings, sends = ask.folder(AuthBasicSettings), ask.holds(Sends("basic"))
    result = _asked(ask, settings.providers, "basic", realm if settings.digest else "")
    answers = {AUTH_GRANTED: OK, AUTH_DENIED: 401, AUTH_USER_NOT_FOUND: 401, AUTH_GENERAL_ERROR: 500}
    if not settings.authoritative:
        answers |= {AUTH_USER_NOT_FOUND: DECLINED, AUTH_GENERAL_ERROR: DECLINED}
    return chosen(ask.space, sends, result.mapped(answers.__getitem__), always(ask.space, 401))


def _digest(ask: Asking) -> Cases:
    if ask.auth_type() != "digest":
        return always(ask.space, DECLINED)
    realm = ask.auth_name()
    if realm is None:
        return always(ask.space, 500)
    sends = ask.holds(Sends("digest"))
    result = _asked(ask, ask.folder(AuthDigestSettings).providers, "digest", realm)
    answers = {AUTH_GRANTED: OK, AUTH_GENERAL_ERROR: 500}
    return chosen(ask.space, sends, result.mapped(lambda value: answers.get(value, 401)), always(ask.space, 401))


def _unmodelled(ask: Asking) -> Cases:
    """A type that may be a third party's, or mod_auth_form's: who has no credentials is asked for them, all else is opaque."""
    kind = ask.auth_type()
    theirs = ask.settings.foreign or (kind == "form" and ask.plan.loaded("auth_form_module"))
    if kind in (None, "basic", "digest") or not theirs:
        return always(ask.space, DECLINED)
    assert kind is not None
    area = f"{kind} {ask.auth_name()} {ask.lines('auth')}"
    return either(ask.space, ask.holds(Sends(kind)) & ask.holds(RightPassword(kind, area)), OK, 401)


def _no_user(ask: Asking) -> Cases:
    return always(ask.space, OK if ask.auth_type() is None else 500)


def _default(ask: Asking) -> Cases:
    refuses = ask.auth_type() is not None and ask.folder(AuthnDefaultSettings).authoritative
    return always(ask.space, 401 if refuses else DECLINED)


_DIGEST: Final = next(hook.make for hook in mod_auth_digest.MODULE.hooks if hook.phase is CHECK_USER_ID)
_HOOKS: Final[dict[Any, Hook]] = {
    mod_auth_basic.make_authenticate: _basic,
    _DIGEST: _digest,
    mod_authn_core.make_no_user: _no_user,
    mod_authn_default.make_check: _default,
}


# providers ----------------------------------------------------------------------------------------
def _asked(ask: Asking, providers: list[AuthnProvider], scheme: str, realm: str) -> Cases:
    """The authn_status of the first provider that knows the user; *realm* where stored hashes are of user and realm."""
    default = ask.plan.provider("authn", "file")
    asked = providers or ([default] if default is not None else [])
    if not asked:
        return always(ask.space, AUTH_GENERAL_ERROR)
    return first(ask.space, [_provider(ask, provider, scheme, realm) for provider in asked], AUTH_USER_NOT_FOUND)


def _provider(ask: Asking, provider: AuthnProvider, scheme: str, realm: str) -> Cases:
    name = _name(ask, provider)
    alias = ask.settings.aliases["authnprovideralias"].get(name)
    if alias is not None:
        return _aliased(ask, alias, scheme, realm)
    return _named(ask, name, scheme, realm)


def _aliased(ask: Asking, alias: Alias, scheme: str, realm: str) -> Cases:
    outer = ask.settings.aliases["authnprovideralias"].get(alias.base)
    inner = ask.under(alias)
    return _aliased(inner, outer, scheme, realm) if outer is not None else _named(inner, alias.base, scheme, realm)


def _name(ask: Asking, provider: AuthnProvider) -> str:
    """What the provider is called: the word after AuthBasicProvider."""
    if getattr(provider, "name", ""):
        return str(provider.name)
    server = ask.settings.configuration.main.records.get(AuthnCoreServer)
    aliases = server.aliases if server is not None and isinstance(server.aliases, dict) else {}
    known = {**ask.settings.configuration.modules.providers("authn"), **aliases}
    return next((name for name, value in known.items() if value is provider), "ldap")


def _named(ask: Asking, name: str, scheme: str, realm: str) -> Cases:
    """The status of a provider as it is set up where *ask* stands."""
    if name == "socache":
        return always(ask.space, AUTH_USER_NOT_FOUND)  # it knows what another provider has told it
    area = _area(ask, name)
    if area is None:
        return always(ask.space, AUTH_GENERAL_ERROR)
    area += f" realm {realm}" if realm else ""
    known, right = ask.holds(KnownUser(scheme, area)), ask.holds(RightPassword(scheme, area))
    return chosen(ask.space, known, either(ask.space, right, AUTH_GRANTED, AUTH_DENIED), always(ask.space, AUTH_USER_NOT_FOUND))


def _area(ask: Asking, name: str) -> str | None:
    """Whom the provider knows, as text; None where it can't tell."""
    if name == "file":
        file = ask.folder(AuthnFileSettings).file
        return None if file is None or ask.unreadable(file.path) else f"file {file.path}"
    if name == "dbm":
        settings = ask.folder(AuthnDbmSettings)
        return None if not settings.path or ask.unreadable_dbm(settings.path, settings.kind) else f"dbm {settings.kind} {settings.path}"
    return f"{name} {ask.lines(*_TOLD.get(name, ('authn', f'auth{name}')))}"
