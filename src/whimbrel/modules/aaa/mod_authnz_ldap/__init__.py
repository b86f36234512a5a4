"""mod_authnz_ldap: users of an LDAP directory, and Require lines about them.

mod_ldap has the connections. A directory that does not respond lets nobody in.
"""

from __future__ import annotations

from whimbrel.base.errors import MissingPackage, PostConfigError
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import Any, Final
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Setter, Versions
from whimbrel.modules.aaa.mod_authnz_ldap import settings
from whimbrel.modules.aaa.mod_authnz_ldap.settings import AuthnzLdapDirConfig, AuthnzLdapServerConfig
from whimbrel.modules.aaa.mod_authz_core.providers import require_text
from whimbrel.modules.ldap.mod_ldap import is_installed
from whimbrel.modules.support.auth.auth_api import AuthnProvider, AuthzProvider
from whimbrel.modules.support.catalogue_checks import checked
from whimbrel.modules.support.setters import set_flag, set_number, set_path, set_text, set_value
from whimbrel.registry.module import Hook, Module, Provider, Scope, importer
from whimbrel.registry.phases import AUTH_CHECKER

SOURCE: Final = "mod_authnz_ldap.c"
_PACKAGE: Final = "whimbrel.modules.aaa.mod_authnz_ldap"
_imported = importer(_PACKAGE)
_DIR_SETTERS: Final[dict[str, Setter]] = {
    "AuthLDAPURL": settings.set_url,
    "AuthLDAPBindDN": set_text("bind_dn"),
    "AuthLDAPBindPassword": settings.set_bind_password,
    "AuthLDAPBindAuthoritative": set_flag("bind_authoritative"),
    "AuthLDAPRemoteUserIsDN": set_flag("user_is_dn"),
    "AuthLDAPRemoteUserAttribute": set_text("user_attribute"),
    "AuthLDAPCompareDNOnServer": set_flag("compare_on_server"),
    "AuthLDAPSubGroupAttribute": settings.add_name(
        "subgroup_attributes", "Too many AuthLDAPSubGroupAttribute values"
    ),
    "AuthLDAPSubGroupClass": settings.add_name("subgroup_classes", "Too many AuthLDAPSubGroupClass values"),
    "AuthLDAPMaxSubGroupDepth": set_number("subgroup_depth"),
    "AuthLDAPGroupAttribute": settings.add_name(
        "group_attributes", "Too many AuthLDAPGroupAttribute directives"
    ),
    "AuthLDAPGroupAttributeIsDN": set_flag("group_has_dn"),
    "AuthLDAPDereferenceAliases": set_value(
        "dereference", lambda word: {"off": "never", "on": "always"}.get(lower(word), word)
    ),
    "AuthLDAPAuthorizePrefix": set_text("prefix"),
    "AuthLDAPInitialBindAsUser": set_flag("binds_as_user"),
    "AuthLDAPInitialBindPattern": settings.set_bind_pattern,
    "AuthLDAPSearchAsUser": set_flag("searches_as_user"),
    "AuthLDAPCompareAsUser": set_flag("compares_as_user"),
    "AuthzLDAPAuthoritative": set_flag("authoritative"),
}
_SERVER_SETTERS: Final[dict[str, Setter]] = {
    "AuthLDAPCharsetConfig": set_path("charset_file"),
}
_WORDS: Final = ("ldap-user", "ldap-group", "ldap-dn", "ldap-attribute", "ldap-filter", "ldap-search")


def make_ldap(scope: Scope) -> Any:
    """Return the authentication provider."""
    return _imported("authentication", "make_ldap")(scope)


def _make_check(word: str) -> Any:
    def make(scope: Scope, args: str, parsed: object) -> Any:
        return _imported("authorization", "make")(word)(scope, args, parsed)

    return make


def make_check22(scope: Scope) -> Any:
    """Return the auth_checker of 2.2."""
    return _imported("authorization_22", "make_check22")(scope)


def check_start(configuration: Configuration) -> None:
    """Check that mod_ldap and python-ldap are there; read the file of AuthLDAPCharsetConfig."""
    if not configuration.loaded("util_ldap.c"):
        raise _failure(
            "AH01749: Module mod_ldap missing. Mod_ldap (aka. util_ldap) must be loaded in order for "
            "mod_authnz_ldap to function properly"
        )
    main = next(iter(configuration.servers())).config(AuthnzLdapServerConfig)
    if main.is_used and not is_installed():
        raise MissingPackage("mod_authnz_ldap", "ldap")
    if main.charset_file:
        main.charsets = _read_charsets(main.charset_file)


def _failure(text: str) -> PostConfigError:
    return PostConfigError("authnz_ldap", ("error", text))


def _read_charsets(path: str) -> dict[str, str]:
    try:
        text = to_text(read_regular(to_bytes(path)))
    except OSError as problem:
        reason = f"({problem.errno}){problem.strerror}"
        raise _failure(
            f"{reason}: AH01751: could not open charset conversion config file {path}."
        ) from problem
    found: dict[str, str] = _imported("filters", "read_charsets")(text)
    if "utf-8" not in found:
        raise _failure(f"AH01752: could not find the UTF-8 charset in the file {path}.")
    return found


def libraries(_configuration: Configuration) -> list[str]:
    """Return the files that workers need."""
    if not is_installed():
        return []
    return [
        *(f"{_PACKAGE}.{name}" for name in ("authentication", "authorization", "authorization_22")),
        "whimbrel.modules.ldap.mod_ldap.worker",
    ]


MODULE = Module(
    name="authnz_ldap_module",
    source=SOURCE,
    dir_config=AuthnzLdapDirConfig,
    server_config=AuthnzLdapServerConfig,
    dir_setters=checked(SOURCE, _DIR_SETTERS),
    server_setters=checked(SOURCE, _SERVER_SETTERS),
    hooks=(Hook(AUTH_CHECKER, make_check22, before=("mod_authz_user.c",)),),
    providers=(
        Provider("authn", "ldap", AuthnProvider(make_ldap, realms=False)),
        *(
            Provider("authz", word, AuthzProvider(_make_check(word), require_text), Versions.V24)
            for word in _WORDS
        ),
        Provider("libraries", "authnz_ldap", libraries),
    ),
    post_config=(check_start,),
)
