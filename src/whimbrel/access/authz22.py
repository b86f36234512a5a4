"""Access control of 2.2 as a symbolic decision: Order, Allow, Deny, Satisfy, authentication and the
authorization modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from whimbrel.access.atoms import Opaque, UserIn
from whimbrel.access.authentication import check_user
from whimbrel.access.order_allow_deny import is_refused
from whimbrel.access.outcomes import Outcomes, constant, first, if_else
from whimbrel.access.query import AccessQuery
from whimbrel.access.space import Function
from whimbrel.access.ssl_conditions import is_refused_by_ssl
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.modules.aaa import (
    mod_authz_dbm,
    mod_authz_default,
    mod_authz_groupfile,
    mod_authz_owner,
    mod_authz_user,
)
from whimbrel.modules.aaa.mod_authz_dbm import AuthzDbmDirConfig
from whimbrel.modules.aaa.mod_authz_default import AuthzDefaultDirConfig
from whimbrel.modules.aaa.mod_authz_groupfile import AuthzGroupFileDirConfig
from whimbrel.modules.aaa.mod_authz_owner import AuthzOwnerDirConfig
from whimbrel.modules.aaa.mod_authz_user import AuthzUserDirConfig
from whimbrel.modules.core.access_22 import Requirement
from whimbrel.registry.phases import AUTH_CHECKER, DECLINED, OK

_WORDS: Final = frozenset({"user", "valid-user", "group", "file-owner", "file-group"})


def decide(query: AccessQuery) -> Outcomes:
    """Return the outcomes for requests of one method: OK, 401, 403, 500."""
    space = query.space
    keeps_out = is_refused(query) if query.plan.loaded("authz_host_module") else space.false
    keeps_out = keeps_out | is_refused_by_ssl(query)
    hosts = if_else(space, keeps_out, 403, OK)
    if not applicable(query):
        # Satisfy Any or All: without a Require line for the method, Order, Allow and Deny alone decide
        return hosts
    user = check_user(query).map_values(_error)
    answer = user.replace(OK, auth_checker(query))
    if query.dir_config(CoreDirConfig).satisfy.get(query.method, "") == "any":
        return hosts.replace(403, answer)
    return hosts.replace(OK, answer)


def _error(answer: int) -> int:
    """A phase in which every hook declines is a configuration error."""
    return 500 if answer == DECLINED else answer


def applicable(query: AccessQuery) -> list[Requirement]:
    """Return the Require lines that apply to the method."""
    return [line for line in query.dir_config(CoreDirConfig).requires if query.applies_to(line.methods)]


def auth_checker(query: AccessQuery) -> Outcomes:
    """Return the outcomes of the phase auth_checker for a user with a valid password."""
    hooks = (_HOOKS.get(hook.make) for hook in query.settings.plans.hooks[AUTH_CHECKER.index])
    return first(
        query.space,
        [_ldap(query), _foreign(query), *(hook(query) for hook in hooks if hook is not None)],
        DECLINED,
    ).map_values(_error)


def _verdict(query: AccessQuery, good: Function, authoritative: bool) -> Outcomes:
    return if_else(query.space, good, OK, 401 if authoritative else DECLINED)


def _user(query: AccessQuery) -> Outcomes:
    lines = [line for line in applicable(query) if line.name in ("user", "valid-user")]
    if any(line.name == "valid-user" for line in lines):
        return constant(query.space, OK)
    if not lines:
        return constant(query.space, DECLINED)
    names = frozenset(word for line in lines for word in line.words)
    return _verdict(
        query,
        query.variable(UserIn(names)) if names else query.space.false,
        query.dir_config(AuthzUserDirConfig).authoritative,
    )


def _group_lines(query: AccessQuery) -> list[Requirement]:
    return [line for line in applicable(query) if line.name.lower() in ("group", "file-group")]


def _notes_group(query: AccessQuery) -> bool:
    """Return True if mod_authz_owner, which runs earlier, notes the group of the file because a line requires
    it."""
    return query.plan.loaded("authz_owner_module") and any(
        line.name.lower() == "file-group" for line in applicable(query)
    )


def _groupfile(query: AccessQuery) -> Outcomes:
    settings = query.dir_config(AuthzGroupFileDirConfig)
    lines = _group_lines(query)
    if settings.file is None or not lines:
        return constant(query.space, DECLINED)
    if query.unreadable(settings.file.path):
        return constant(query.space, 500)
    noted = _notes_group(query)
    source = query.group_source(settings.file.path)
    return _groups(
        query,
        lines,
        settings.authoritative,
        noted,
        lambda words: query.any_member(source, map(str.lower, words)),
        source,
    )


def _dbm(query: AccessQuery) -> Outcomes:
    settings = query.dir_config(AuthzDbmDirConfig)
    noted = _notes_group(query)
    lines = [line for line in _group_lines(query) if noted or line.name.lower() == "group"]
    if not settings.path or not lines:
        return constant(query.space, DECLINED)
    if query.unreadable_dbm(settings.path, settings.kind):
        return constant(query.space, 500)
    source = query.dbm_source(settings.path, settings.kind)
    return _groups(
        query, lines, settings.authoritative, noted, lambda words: query.any_member(source, words), source
    )


def _groups(
    query: AccessQuery,
    lines: list[Requirement],
    authoritative: bool,
    noted: bool,
    member: Callable[[Iterable[str]], Function],
    source: str,
) -> Outcomes:
    """Evaluate the lines in order; a file-group that does not match ends the work of an
    authoritative module."""
    good = query.space.false
    for line in lines:
        if line.name.lower() == "group":
            good = good | member(line.words)
        elif noted:
            good = good | query.variable(Opaque(f"file-group by {source}", user=True))
            if authoritative:
                break
    return _verdict(query, good, authoritative)


def _owner(query: AccessQuery) -> Outcomes:
    """Evaluate the owner of the file; if a line about the file's group comes first, the group modules
    continue."""
    words = [
        word for line in applicable(query) if (word := line.name.lower()) in ("file-owner", "file-group")
    ]
    if "file-owner" not in words:
        return constant(query.space, DECLINED)
    authoritative = query.dir_config(AuthzOwnerDirConfig).authoritative and words[0] == "file-owner"
    return _verdict(query, query.variable(Opaque("file-owner", user=True)), authoritative)


def _default(query: AccessQuery) -> Outcomes:
    if not applicable(query):
        return constant(query.space, OK)
    return constant(query.space, 401 if query.dir_config(AuthzDefaultDirConfig).authoritative else DECLINED)


def _ldap(query: AccessQuery) -> Outcomes:
    """Evaluate ldap-* lines: mod_authnz_ldap runs first, and each line is opaque and depends on the user."""
    lines = [line for line in applicable(query) if line.name.lower().startswith("ldap-")]
    ldap_lines = query.lines("authldap", "authzldap")
    if not lines or "authldapurl" not in ldap_lines or not query.plan.loaded("authnz_ldap_module"):
        return constant(query.space, DECLINED)
    return _verdict(query, _opaque(query, lines), "authzldapauthoritative off" not in ldap_lines.lower())


def _foreign(query: AccessQuery) -> Outcomes:
    """Evaluate unknown words, which may belong to a third party, and those of httpd that a product grants as
    well: such a module may grant access, else the next modules decide."""
    if not query.settings.foreign:
        return constant(query.space, DECLINED)
    lines = [line for line in applicable(query) if _may_be_foreign(query, line.name.lower())]
    return _verdict(query, _opaque(query, lines), False) if lines else constant(query.space, DECLINED)


def _may_be_foreign(query: AccessQuery, word: str) -> bool:
    if word not in _WORDS:
        return not word.startswith("ldap-")
    return query.settings.may_register("require", word)


def _opaque(query: AccessQuery, lines: list[Requirement]) -> Function:
    atoms = dict.fromkeys(Opaque(" ".join([line.name.lower(), *line.words]), user=True) for line in lines)
    return query.space.any_of(query.variable(atom) for atom in atoms)


_HOOKS: Final[dict[Any, Callable[[AccessQuery], Outcomes]]] = {
    mod_authz_user.make_check22: _user,
    mod_authz_groupfile.make_check22: _groupfile,
    mod_authz_dbm.make_check22: _dbm,
    mod_authz_owner.make_check22: _owner,
    mod_authz_default.make_check: _default,
}
