"""Access control of 2.2, symbolically: lists, Satisfy, authentication, and the chain of authorization modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from whimbrel.access.asking import Asking
from whimbrel.access.atoms import Opaque, UserIn
from whimbrel.access.authentication import check_user
from whimbrel.access.cases import Cases, always, either, first
from whimbrel.access.decision import Function
from whimbrel.access.lists import refused
from whimbrel.config.core import CoreFolder
from whimbrel.modules import mod_authz_dbm, mod_authz_default, mod_authz_groupfile, mod_authz_owner, mod_authz_user
from whimbrel.modules.core.access22 import Requirement
from whimbrel.modules.mod_authz_dbm import AuthzDbmSettings
from whimbrel.modules.mod_authz_default import AuthzDefaultSettings
from whimbrel.modules.mod_authz_groupfile import AuthzGroupFileSettings
from whimbrel.modules.mod_authz_owner import AuthzOwnerSettings
from whimbrel.modules.mod_authz_user import AuthzUserSettings
from whimbrel.registry.phases import AUTH_CHECKER, DECLINED, OK

_WORDS: Final = frozenset({"user", "valid-user", "group", "file-owner", "file-group"})


def decided(ask: Asking) -> Cases:
    """The answer to requests of one method: OK, 401, 403, 500."""
    space = ask.space
    keeps_out = refused(ask) if ask.plan.loaded("authz_host_module") else space.false
    hosts = either(space, keeps_out, 403, OK)
    if not applying(ask):
        return hosts  # Satisfy Any or All: without a Require line for the method the lists alone decide
    user = check_user(ask).mapped(_error)
    answer = user.replaced(OK, authorized(ask))
    if ask.folder(CoreFolder).satisfy.get(ask.method, "") == "any":
        return hosts.replaced(403, answer)
    return hosts.replaced(OK, answer)


def _error(answer: int) -> int:
    """A phase in which nobody decides is a broken configuration."""
    return 500 if answer == DECLINED else answer


def applying(ask: Asking) -> list[Requirement]:
    """The Require lines about the method."""
    return [line for line in ask.folder(CoreFolder).requires if ask.concerns(line.methods)]


def authorized(ask: Asking) -> Cases:
    """The answer of the phase auth_checker, for a user whose password is right."""
    hooks = (_HOOKS.get(hook.make) for hook in ask.settings.plans.hooks[AUTH_CHECKER.index])
    return first(ask.space, [_ldap(ask), _foreign(ask), *(hook(ask) for hook in hooks if hook is not None)], DECLINED).mapped(_error)


def _judged(ask: Asking, good: Function, authoritative: bool) -> Cases:
    return either(ask.space, good, OK, 401 if authoritative else DECLINED)


def _user(ask: Asking) -> Cases:
    lines = [line for line in applying(ask) if line.name in ("user", "valid-user")]
    if any(line.name == "valid-user" for line in lines):
        return always(ask.space, OK)
    if not lines:
        return always(ask.space, DECLINED)
    names = frozenset(word for line in lines for word in line.words)
    return _judged(ask, ask.holds(UserIn(names)) if names else ask.space.false, ask.folder(AuthzUserSettings).authoritative)


def _group_lines(ask: Asking) -> list[Requirement]:
    return [line for line in applying(ask) if line.name.lower() in ("group", "file-group")]


def _notes_group(ask: Asking) -> bool:
    """Whether mod_authz_owner, which runs earlier, has noted the file's group: it does where a line asks for it."""
    return ask.plan.loaded("authz_owner_module") and any(line.name.lower() == "file-group" for line in applying(ask))


def _groupfile(ask: Asking) -> Cases:
    settings = ask.folder(AuthzGroupFileSettings)
    lines = _group_lines(ask)
    if settings.file is None or not lines:
        return always(ask.space, DECLINED)
    if ask.unreadable(settings.file.path):
        return always(ask.space, 500)
    noted, source = _notes_group(ask), f"file {settings.file.path}"
    return _groups(ask, lines, settings.authoritative, noted, lambda words: ask.any_member(source, map(str.lower, words)), source)


def _dbm(ask: Asking) -> Cases:
    settings, noted = ask.folder(AuthzDbmSettings), _notes_group(ask)
    lines = [line for line in _group_lines(ask) if noted or line.name.lower() == "group"]
    if not settings.path or not lines:
        return always(ask.space, DECLINED)
    if ask.unreadable_dbm(settings.path, settings.kind):
        return always(ask.space, 500)
    source = f"dbm {settings.kind} {settings.path}"
    return _groups(ask, lines, settings.authoritative, noted, lambda words: ask.any_member(source, words), source)


def _groups(ask: Asking, lines: list[Requirement], authoritative: bool, noted: bool, member: Callable[[Iterable[str]], Function],
            source: str) -> Cases:
    """The lines in their order: a file-group that does not match ends an authoritative module's work."""
    good = ask.space.false
    for line in lines:
        if line.name.lower() == "group":
            good = good | member(line.words)
        elif noted:
            good = good | ask.holds(Opaque(f"file-group by {source}", user=True))
            if authoritative:
                break
    return _judged(ask, good, authoritative)


def _owner(ask: Asking) -> Cases:
    """A file's owner; where a line about its group comes first the modules of groups go on."""
    words = [word for line in applying(ask) if (word := line.name.lower()) in ("file-owner", "file-group")]
    if "file-owner" not in words:
        return always(ask.space, DECLINED)
    authoritative = ask.folder(AuthzOwnerSettings).authoritative and words[0] == "file-owner"
    return _judged(ask, ask.holds(Opaque("file-owner", user=True)), authoritative)


def _default(ask: Asking) -> Cases:
    if not applying(ask):
        return always(ask.space, OK)
    return always(ask.space, 401 if ask.folder(AuthzDefaultSettings).authoritative else DECLINED)


def _ldap(ask: Asking) -> Cases:
    """mod_authnz_ldap comes before the others and owns the words ldap-*, each an opaque question about the user."""
    lines = [line for line in applying(ask) if line.name.lower().startswith("ldap-")]
    told = ask.lines("authldap", "authzldap")
    if not lines or "authldapurl" not in told or not ask.plan.loaded("authnz_ldap_module"):
        return always(ask.space, DECLINED)
    return _judged(ask, _opaque(ask, lines), "authzldapauthoritative off" not in told.lower())


def _foreign(ask: Asking) -> Cases:
    """Words that nobody knows may be a third party's: who meets one is let in, all others are left to the modules that follow."""
    lines = [line for line in applying(ask) if line.name.lower() not in _WORDS and not line.name.lower().startswith("ldap-")]
    return _judged(ask, _opaque(ask, lines), False) if ask.settings.foreign and lines else always(ask.space, DECLINED)


def _opaque(ask: Asking, lines: list[Requirement]) -> Function:
    atoms = dict.fromkeys(Opaque(" ".join([line.name.lower(), *line.words]), user=True) for line in lines)
    return ask.space.any_of(ask.holds(atom) for atom in atoms)


_HOOKS: Final[dict[Any, Callable[[Asking], Cases]]] = {
    mod_authz_user.make_check22: _user,
    mod_authz_groupfile.make_check22: _groupfile,
    mod_authz_dbm.make_check22: _dbm,
    mod_authz_owner.make_check22: _owner,
    mod_authz_default.make_check: _default,
}
