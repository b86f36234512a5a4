"""Require ldap-user, ldap-group, ldap-dn, ldap-attribute and ldap-filter of 2.2: the auth_checker hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.directives.tokens import getword
from whimbrel.engine.request import Request
from whimbrel.modules.aaa.mod_authnz_ldap.users import FilterTooLong, LdapUser, Users, user_of, users_of
from whimbrel.modules.core.access_22 import Requirement, applying, requirements
from whimbrel.modules.ldap.mod_ldap.directory import Credentials, Directory
from whimbrel.modules.ldap.mod_ldap.results import COMPARE_TRUE, SUCCESS, LdapResult
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

Operation = Callable[[Directory], LdapResult]
_WORDS: Final = ("ldap-user", "ldap-dn", "ldap-group", "ldap-attribute", "ldap-filter")


def make_check22(scope: Scope) -> CompiledHook | None:
    """2.2: decide the Require lines of this module if a directory is set."""
    if not scope.dialect.authoritative_chain:
        return None
    users = users_of(scope)
    if users is None:
        return None
    found = users
    lines = requirements(scope)

    async def check(r: Request) -> HookStatus:
        r.set_uncacheable()
        return await _check(r, found, lines)

    return CompiledHook(check, Reads.HEAD | Reads.UNCACHEABLE, is_async=True)


async def _check(r: Request, users: Users, lines: list[Requirement]) -> HookStatus:
    refused = 401 if users.settings.authoritative else DECLINED
    if not lines:
        users.log(r, "debug", "auth_ldap authorise: no requirements array", "")
        return refused
    user = user_of(r, users)
    if not user.dn and not await _find(r, users, user):
        return refused
    own = [line for line in applying(lines, r) if line.name in _WORDS]
    for line in own:
        if not user.dn:
            what = f"auth_ldap authorise: require {line.name[5:]}"
            users.log(r, "debug", f"{what}: user's DN has not been defined; failing authorisation", "")
            return refused
        if await _matches(r, users, user, line):
            users.log(
                r, "debug", f"auth_ldap authorise: require {line.name[5:]}: authorisation successful", ""
            )
            return OK
    if not any(applying(lines, r)):
        users.log(r, "debug", "auth_ldap authorise: agreeing because non-restricted", "")
        return OK
    if not own:
        users.log(r, "debug", "auth_ldap authorise: declining to authorise (no ldap requirements)", "")
        return DECLINED
    if refused == DECLINED:
        users.log(r, "debug", "auth_ldap authorise: declining to authorise (not authoritative)", "")
    else:
        users.log(r, "debug", "auth_ldap authorise: authorisation denied", "")
    return refused


async def _find(r: Request, users: Users, user: LdapUser) -> bool:
    if not r.user:
        text = f"ldap authorize: Userid is blank, AuthType={r.auth_type}"
        users.log(r, "warn", text, "")
    try:
        found = await users.find(r, user, users.own)
    except FilterTooLong:
        return False
    if found.code != SUCCESS:
        users.log(r, "debug", f"auth_ldap authorise: User DN not found, {found.reason}", "")
        return False
    return True


async def _matches(r: Request, users: Users, user: LdapUser, line: Requirement) -> bool:
    """Return True if the user satisfies one line."""
    text = line.text
    if line.name == "ldap-filter":
        return bool(text) and await _passes(r, users, user, text)
    if line.name == "ldap-dn":
        return await _any(r, users, [_same_name(users, user.dn, text)])
    url = users.url
    own = users.own
    settings = users.settings
    if line.name == "ldap-group":
        member = user.dn if settings.group_has_dn else user.name or r.user or ""
        comparisons = [(text, name, member) for name in settings.group_attributes]
    elif line.name == "ldap-user":
        comparisons = [(user.dn, url.attribute, value) for value in (text, *line.words)]
    else:
        comparisons = []
        while text:
            name, _, text = text.partition("=")
            value, text = getword(text)
            comparisons.append((user.dn, name, value))
    return await _any(r, users, [_compare(url.text, own, *each) for each in comparisons])


async def _any(r: Request, users: Users, operations: list[Operation]) -> bool:
    for operation in operations:
        found = await users.query(r, operation)
        if found.code == COMPARE_TRUE:
            return True
        text = f"auth_ldap authorise: authorisation failed [{found.reason}][{found.description}]"
        users.log(r, "debug", text, "")
    return False


def _compare(url: str, own: Credentials, dn: str, name: str, value: str) -> Operation:
    return lambda directory: directory.compare(url, dn, name, value, own)


def _same_name(users: Users, dn: str, required: str) -> Operation:
    def compare(directory: Directory) -> LdapResult:
        return directory.compare_names(
            users.url.text, dn, required, users.settings.compare_on_server, users.own
        )

    return compare


async def _passes(r: Request, users: Users, user: LdapUser, text: str) -> bool:
    """Return True if the filter *text* finds the user."""
    try:
        _, wire = users.filters(r, user.name, text)
    except FilterTooLong:
        return False
    found = await users.query(r, lambda directory: directory.find_user(users.search, wire, users.own))
    return found.code == SUCCESS and await _any(r, users, [_same_name(users, user.dn, found.dn)])
