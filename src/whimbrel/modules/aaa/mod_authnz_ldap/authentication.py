"""AuthBasicProvider ldap: search the user, then bind with the password."""

from __future__ import annotations

from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.modules.aaa.mod_authnz_ldap.filters import MAX_FILTER
from whimbrel.modules.aaa.mod_authnz_ldap.users import MODULE_NAME, FilterTooLong, Users, new_user, users_of
from whimbrel.modules.ldap.mod_ldap.results import (
    CONSTRAINT_VIOLATION,
    NO_SUCH_OBJECT,
    OTHER,
    SECURITY_ERRORS,
    SUCCESS,
    LdapResult,
)
from whimbrel.modules.support.auth.auth_api import Authn, BoundAuthn
from whimbrel.registry.module import Reads, Scope


def make_ldap(scope: Scope) -> BoundAuthn:
    """Return the provider of the directory's users."""
    users = users_of(scope)
    is_22 = scope.dialect.contexts_22

    async def password(r: Request, user: str, given: str) -> int:
        r.set_uncacheable()
        if users is None:
            if not is_22:
                r.log("warn", "no AuthLDAPURL", code="AH02558", module=MODULE_NAME)
            return Authn.GENERAL_ERROR
        secret = given.partition("\0")[0]
        if not secret:
            users.log(r, "debug", "auth_ldap authenticate: empty password specified", "AH10263")
            return Authn.DENIED
        return await _check(r, users, user, secret)

    return BoundAuthn(password, None, Reads.HEAD | Reads.UNCACHEABLE)


async def _check(r: Request, users: Users, user: str, password: str) -> int:
    known = new_user(r, users)
    credentials = users.first_credentials(r, user, password)
    users.log(r, "debug", f"auth_ldap authenticate: using URL {users.url.text}", "AH01691")
    try:
        shown, wire = users.filters(r, user, users.url.filter)
    except FilterTooLong as problem:
        text = f"auth_ldap authenticate: ldap filter too long (>{MAX_FILTER}): {problem}"
        users.log(r, "error", text, "AH02622")
        return Authn.GENERAL_ERROR
    users.log(r, "trace1", f"auth_ldap authenticate: final authn filter is {shown}", "")
    secret = users.password_in_utf8(r, password)
    found = await users.query(
        r, lambda directory: directory.check_user(users.search, wire, secret, credentials)
    )
    if found.code != SUCCESS:
        return _refused(r, users, user, found)
    known.dn = found.dn
    known.name = user
    known.password = password
    known.values = found.values
    if users.settings.user_is_dn:
        r.user = known.dn
    is_set = users.set_variables(r, found.values, authenticated=True)
    warn_of_attribute(r, users, is_set, "auth_ldap authenticate", "AH01696")
    users.log(r, "debug", f"auth_ldap authenticate: accepting {user}", "AH01697")
    return Authn.GRANTED


def warn_of_attribute(r: Request, users: Users, is_set: bool, what: str, code: str) -> None:
    """Warn if AuthLDAPRemoteUserAttribute names an attribute that was not asked for."""
    name = users.settings.user_attribute
    if name and not is_set:
        text = (
            f"{what}: REMOTE_USER was to be set with attribute '{name}', but this attribute was not "
            "requested for in the LDAP query for the user. REMOTE_USER will fall back to username or DN "
            "as appropriate."
        )
        users.log(r, "warn", text, code)


def _refused(r: Request, users: Users, user: str, found: LdapResult) -> int:
    """Log a failed bind or search and return its authn_status."""
    text = f"auth_ldap authenticate: user {user} authentication failed; URI {r.uri} "
    text += f"[{found.reason}][{found.description}]"
    if not users.settings.bind_authoritative:
        users.log(r, "debug", f"{text} (not authoritative)", "AH01694")
        return Authn.USER_NOT_FOUND
    users.log(r, "info", text, "AH01695")
    code = found.code
    if code == NO_SUCH_OBJECT or (code == OTHER and lower(users.url.filter) == "none"):
        return Authn.USER_NOT_FOUND
    return Authn.DENIED if code in SECURITY_ERRORS or code == CONSTRAINT_VIOLATION else Authn.GENERAL_ERROR
