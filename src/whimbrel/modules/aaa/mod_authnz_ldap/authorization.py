"""Require ldap-user, ldap-group, ldap-dn, ldap-attribute, ldap-filter and ldap-search (2.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from whimbrel.directives.tokens import getword
from whimbrel.engine.expressions import StringExpression
from whimbrel.engine.request import Request
from whimbrel.expr.errors import EvalError
from whimbrel.modules.aaa.mod_authnz_ldap.authentication import warn_of_attribute
from whimbrel.modules.aaa.mod_authnz_ldap.filters import MAX_FILTER
from whimbrel.modules.aaa.mod_authnz_ldap.users import (
    MODULE_NAME,
    FilterTooLong,
    LdapUser,
    Users,
    user_of,
    users_of,
)
from whimbrel.modules.ldap.mod_ldap.directory import Credentials
from whimbrel.modules.ldap.mod_ldap.results import COMPARE_TRUE, FILTER_ERROR, SUCCESS, LdapResult
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck
from whimbrel.registry.module import Reads, Scope

_READS: Final = Reads.HEAD | Reads.UNCACHEABLE


class RequireWord(NamedTuple):
    """One word after Require.

    Attributes:
        test: (request, users, user, credentials, text) to True if the user may enter; it logs
        searches, compares: which operations it needs, for AuthLDAPSearchAsUser and AuthLDAPCompareAsUser
        blank, unknown, expression, denied: codes of a user without name, of one without DN, of an
            expression that fails, of a refusal
        shown, evaluated, refused: its names in these messages
    """

    test: Callable[[Request, Users, LdapUser, Credentials, str], Awaitable[bool]]
    searches: bool
    compares: bool
    blank: str
    unknown: str
    expression: str
    denied: str
    shown: str
    evaluated: str
    refused: str


def make(kind: str) -> Callable[[Scope, str, StringExpression], AuthzCheck]:
    """Return the maker of the checks of ``Require`` *kind*."""

    def make_check(scope: Scope, _args: str, text: StringExpression) -> AuthzCheck:
        users = users_of(scope)
        entry = KINDS.get(kind)

        async def check(r: Request) -> int:
            r.set_uncacheable()
            if entry is None:
                return Authz.DENIED if users is None else await _search(r, users, text)
            if r.user is None:
                return Authz.DENIED_NO_USER
            return Authz.DENIED if users is None else await _run(r, users, entry, text)

        return AuthzCheck(check, _READS, waits=True)

    return make_check


async def _run(r: Request, users: Users, kind: RequireWord, text: StringExpression) -> int:
    user = user_of(r, users)
    credentials = users.credentials(user, searches=kind.searches, compares=kind.compares)
    if not user.dn:
        if not r.user:
            users.log(r, "warn", f"ldap authorize: Userid is blank, AuthType={r.auth_type}", kind.blank)
        if not await _find(r, users, user, credentials):
            return Authz.DENIED
    if not user.dn and (kind.test is not _group or users.settings.group_has_dn):
        users.log(
            r,
            "debug",
            f"auth_ldap authorize: {kind.shown}: user's DN has not been defined; failing authorization",
            kind.unknown,
        )
        return Authz.DENIED
    required = _evaluated(r, users, text, kind.evaluated, kind.expression)
    if required is None:
        return Authz.DENIED
    if await kind.test(r, users, user, credentials, required):
        users.set_variables(r, user.values, authenticated=False)
        return Authz.GRANTED
    refusal = f"auth_ldap authorize {kind.refused}: authorization denied for user {r.user} to {r.uri}"
    users.log(r, "debug", refusal, kind.denied)
    return Authz.DENIED


async def _find(r: Request, users: Users, user: LdapUser, credentials: Credentials) -> bool:
    """Find the entry of a user whom another module has authenticated."""
    try:
        found = await users.find(r, user, credentials)
    except FilterTooLong as problem:
        text = f"auth_ldap authorize: ldap filter too long (>{MAX_FILTER}): {problem}"
        users.log(r, "error", text, "AH02623")
        return False
    if found.code != SUCCESS:
        users.log(r, "debug", f"auth_ldap authorise: User DN not found, {found.reason}", "AH01701")
        return False
    is_set = users.set_variables(r, found.values, authenticated=True)
    warn_of_attribute(r, users, is_set, "auth_ldap non-ldap authenticate", "AH10450")
    return True


def _evaluated(r: Request, users: Users, text: StringExpression, what: str, code: str) -> str | None:
    try:
        return text.text(r, MODULE_NAME)
    except EvalError as problem:
        users.log(r, "error", f"auth_ldap authorize: {what}: {problem.reason}", code)
        return None


def words_of(text: str) -> list[str]:
    """Return the words of *text* up to the first empty one (ap_getword_conf in a loop)."""
    found = []
    while text:
        word, text = getword(text)
        if not word:
            break
        found.append(word)
    return found


async def _user(r: Request, users: Users, user: LdapUser, credentials: Credentials, text: str) -> bool:
    attribute = users.url.attribute
    url = users.url.text
    dn = user.dn
    values = [(text, "AH01703", "AH01704")] + [(word, "AH01705", "AH01706") for word in words_of(text)]
    for value, yes, no in values:
        found = await _compare(r, users, url, dn, attribute, value, credentials)
        if found.code == COMPARE_TRUE:
            users.log(r, "debug", "auth_ldap authorize: require user: authorization successful", yes)
            return True
        _failed(r, users, "require user: authorization failed", found, no)
    return False


async def _group(r: Request, users: Users, user: LdapUser, credentials: Credentials, text: str) -> bool:
    settings = users.settings
    url = users.url.text
    member = user.dn if settings.group_has_dn else user.name or r.user or ""
    what = "auth_ldap authorize: require group"
    users.log(r, "debug", f'{what}: testing for group membership in "{text}"', "AH01713")
    end = ""
    for name in settings.group_attributes:
        users.log(r, "debug", f"{what}: testing for {name}: {member} ({text})", "AH01714")
        found = await _compare(r, users, url, text, name, member, credentials)
        end = f"[{found.reason}][{found.code} - {found.description}]"
        if found.code == COMPARE_TRUE:
            users.log(r, "debug", f"{what}: authorization successful (attribute {name}) {end}", "AH01715")
            return True
        users.log(r, "debug", f'{what} "{text}": didn\'t match with attr {name} {end}', "AH01719")
    failed = f'auth_ldap authorise: require group "{text}": failed {end}, checking sub-groups'
    users.log(r, "debug", failed, "AH01716")
    return await _subgroup(r, users, user, text, member)


async def _subgroup(r: Request, users: Users, user: LdapUser, text: str, member: str) -> bool:
    """Look in the groups that the group *text* contains."""
    what = "auth_ldap authorise: require group"
    credentials = users.credentials(user, searches=True, compares=True)
    for name in users.settings.group_attributes:
        group = text, name, member
        found = await users.query(
            r,
            lambda directory, group=group: directory.check_subgroups(  # type: ignore[misc]
                users.url.text, group, users.subgroups, credentials
            ),
        )
        end = f"[{found.code} - {found.description}]"
        if found.code == COMPARE_TRUE:
            done = f"{what} (sub-group): authorisation successful (attribute {name}) [{found.reason}]{end}"
            users.log(r, "debug", done, "AH01717")
            return True
        # httpd's message has the reason and the attribute in each other's places
        failed = f'{what} (sub-group) "{text}": didn\'t match with attr {found.reason} [{name}]{end}'
        users.log(r, "debug", failed, "AH01718")
    return False


async def _dn(r: Request, users: Users, user: LdapUser, credentials: Credentials, text: str) -> bool:
    found = await _same_name(r, users, user.dn, text, credentials)
    if found.code == COMPARE_TRUE:
        users.log(r, "debug", "auth_ldap authorize: require dn: authorization successful", "AH01726")
        return True
    line = f'auth_ldap authorize: require dn "{text}": LDAP error [{found.reason}][{found.description}]'
    users.log(r, "debug", line, "AH01727")
    return False


async def _attribute(r: Request, users: Users, user: LdapUser, credentials: Credentials, text: str) -> bool:
    while text:
        name, _, text = text.partition("=")
        text = text.lstrip("=")
        value, text = getword(text)
        line = f"auth_ldap authorize: checking attribute {name} has value {value}"
        users.log(r, "debug", line, "AH01734")
        found = await _compare(r, users, users.url.text, user.dn, name, value, credentials)
        if found.code == COMPARE_TRUE:
            done = "auth_ldap authorize: require attribute: authorization successful"
            users.log(r, "debug", done, "AH01735")
            return True
        _failed(r, users, "require attribute: authorization failed", found, "AH01736")
    return False


async def _filter(r: Request, users: Users, user: LdapUser, credentials: Credentials, text: str) -> bool:
    if not text:
        return False
    users.log(r, "debug", f"auth_ldap authorize: checking filter {text}", "AH01743")
    try:
        shown, wire = users.filters(r, user.name, text)
    except FilterTooLong as problem:
        line = f"auth_ldap authorize: ldap filter too long (>{MAX_FILTER}): {problem}"
        users.log(r, "error", line, "AH02628")
        return False
    found = await users.query(r, lambda directory: directory.find_user(users.search, wire, credentials))
    if found.code == SUCCESS:
        users.log(r, "debug", f"auth_ldap authorize: checking dn match {found.dn}", "AH01744")
        user.values = found.values
        compares = users.credentials(user, searches=False, compares=True)
        found = await _same_name(r, users, user.dn, found.dn, compares)
    what = "require ldap-filter: "
    if found.code == COMPARE_TRUE:
        users.log(r, "debug", f"auth_ldap authorize: {what}authorization successful", "AH01745")
        return True
    if found.code == FILTER_ERROR:
        _failed(r, users, f"{what}{shown} authorization failed", found, "AH01746")
    else:
        _failed(r, users, f"{what}authorization failed", found, "AH01747")
    return False


async def _search(r: Request, users: Users, text: StringExpression) -> int:
    """Require ldap-search: the filter finds one entry, whoever the user is."""
    user = user_of(r, users)
    what = "require ldap-search: "
    required = _evaluated(r, users, text, f"{what}Can't evaluate require expression", "AH02629")
    if required is None:
        return Authz.DENIED
    if required:
        credentials = users.credentials(user, searches=True, compares=False)
        users.log(r, "debug", f"auth_ldap authorize: checking filter {required}", "AH02630")
        found = await users.query(
            r, lambda directory: directory.find_user(users.search, required, credentials)
        )
        if found.code == SUCCESS and found.dn:
            user.dn = found.dn
            user.values = found.values
            users.log(r, "debug", f"auth_ldap authorize: {what}authorization successful", "AH02631")
            users.set_variables(r, user.values, authenticated=False)
            return Authz.GRANTED
        _failed(r, users, f"{what}{required} authorization failed", found, "AH02632")
    users.log(r, "debug", f"auth_ldap authorize search: authorization denied for to {r.uri}", "AH02633")
    return Authz.DENIED


async def _compare(
    r: Request, users: Users, url: str, dn: str, attribute: str, value: str, credentials: Credentials
) -> LdapResult:
    return await users.query(r, lambda directory: directory.compare(url, dn, attribute, value, credentials))


async def _same_name(
    r: Request, users: Users, dn: str, required: str, credentials: Credentials
) -> LdapResult:
    return await users.query(
        r,
        lambda directory: directory.compare_names(
            users.url.text, dn, required, users.settings.compare_on_server, credentials
        ),
    )


def _failed(r: Request, users: Users, what: str, found: LdapResult, code: str) -> None:
    users.log(r, "debug", f"auth_ldap authorize: {what} [{found.reason}][{found.description}]", code)


_CANNOT: Final = "Can't evaluate expression"
KINDS: Final[dict[str, RequireWord]] = {
    "ldap-user": RequireWord(
        _user, False, True, "AH01699", "AH01702", "AH02585", "AH01707",
        "require user", f"require user: {_CANNOT}", "user",
    ),
    "ldap-group": RequireWord(
        _group, False, True, "AH01699", "AH01712", "AH02586", "AH01720",
        "require group", f"require group: {_CANNOT}", "group",
    ),
    "ldap-dn": RequireWord(
        _dn, True, False, "AH01722", "AH01725", "AH02587", "AH01728",
        "require dn", f"require dn: {_CANNOT}", "dn",
    ),
    "ldap-attribute": RequireWord(
        _attribute, False, True, "AH01730", "AH01733", "AH02588", "AH01737",
        "require ldap-attribute", f"require ldap-attribute: {_CANNOT}", "attribute",
    ),
    "ldap-filter": RequireWord(
        _filter, True, False, "AH01739", "AH01742", "AH02589", "AH01748",
        "require ldap-filter", "require ldap-filter: Can't evaluate require expression", "filter",
    ),
}  # fmt: skip
