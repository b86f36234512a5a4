"""Access control of 2.4, symbolically: mod_access_compat, authentication, and mod_authz_core's tree of rules."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from whimbrel.access.asking import Asking
from whimbrel.access.authentication import check_user, has_user
from whimbrel.access.cases import Cases, always, either
from whimbrel.access.decision import Function
from whimbrel.access.lists import compat_refused
from whimbrel.access.providers import CHECKS, joined, status_of
from whimbrel.modules.allow_deny import AllowDenySettings
from whimbrel.modules.auth_api import DENIED, DENIED_NO_USER, GENERAL_ERROR, GRANTED, NEUTRAL
from whimbrel.modules.mod_authz_core.decide import _all, _any
from whimbrel.modules.mod_authz_core.settings import AuthzCoreSettings, Rule
from whimbrel.registry.phases import DECLINED, OK

_ALL_METHODS: Final = -1
_NEGATED: Final = {GRANTED: DENIED, DENIED: NEUTRAL, DENIED_NO_USER: NEUTRAL}


def decided(ask: Asking) -> Cases:
    """The answer to requests of one method: OK, 401, 403, 500."""
    space = ask.space
    compat = ask.plan.loaded("access_compat_module")
    hosts = either(space, compat_refused(ask), 403, OK) if compat else always(space, OK)
    user = before(ask).replaced(DECLINED, _with_user(ask))
    if compat and ask.folder(AllowDenySettings).satisfy.get(ask.method, "") == "any":
        return hosts.replaced(403, user)
    return hosts.replaced(OK, user)


def _with_user(ask: Asking) -> Cases:
    """Authentication and what follows it."""
    user = check_user(ask).mapped(lambda answer: 500 if answer == DECLINED else answer)
    if not has_user(ask):
        return user.replaced(OK, always(ask.space, 500))
    return user.replaced(OK, after(ask))


def before(ask: Asking) -> Cases:
    """The answer of the phase access_checker_ex: DECLINED where a user could change it."""
    if not ask.plan.loaded("authz_core_module"):
        return always(ask.space, DECLINED)
    section = ask.folder(AuthzCoreSettings).section
    if section is None:
        return _no_directives(ask)
    answers = {GRANTED: OK, DENIED_NO_USER: DECLINED, GENERAL_ERROR: 500}
    return status(ask, section, user=False).mapped(lambda value: answers.get(value, 403))


def after(ask: Asking) -> Cases:
    """The answer of the phase auth_checker, once the user is known."""
    if not ask.plan.loaded("authz_core_module"):
        return always(ask.space, 500)
    record = ask.folder(AuthzCoreSettings)
    if record.section is None:
        return _no_directives(ask)
    refusal = 403 if ask.auth_type() is None or record.forbidden else 401
    answers = {GRANTED: OK, GENERAL_ERROR: 500, DENIED_NO_USER: 401}
    return status(ask, record.section, user=True).mapped(lambda value: answers.get(value, refusal))


def _no_directives(ask: Asking) -> Cases:
    return always(ask.space, OK if ask.auth_type() is None else 500)


# trees --------------------------------------------------------------------------------------------
def status(ask: Asking, rule: Rule, *, user: bool, parent: str = "and") -> Cases:
    """The authz_status of a rule; *parent* is the operator of the container around it, *user* says whether one is known."""
    if rule.methods != _ALL_METHODS and not ask.concerns(rule.methods):
        return always(ask.space, GRANTED if parent == "and" else NEUTRAL)
    if rule.provider is not None:
        found = status_of(ask, rule.name, rule.args, user)
    else:
        found = _container(ask, rule, user)
    return found.mapped(lambda value: _NEGATED.get(value, value)) if rule.negate else found


def _container(ask: Asking, rule: Rule, user: bool) -> Cases:
    """All or any of the rules, joined from the last to the first: the order that makes diagrams grow at their root."""
    join, final = (_all, DENIED) if rule.op == "and" else (_any, GRANTED)
    result = always(ask.space, NEUTRAL)
    for found in reversed(_statuses(ask, rule, user)):
        when: dict[int, Function] = {}
        for value, function in found.when.items():
            ends = value in (final, GENERAL_ERROR)  # what comes later is not asked any more
            for later, reached in [(value, ask.space.true)] if ends else result.when.items():
                then = later if later in (final, GENERAL_ERROR) else join(value, later)
                when[then] = when.get(then, ask.space.false) | (function & reached)
        result = Cases(ask.space, when)
    return result


def _statuses(ask: Asking, rule: Rule, user: bool) -> list[Cases]:
    """The statuses of a container's rules; neighbours that only lengthen one list (Require ip, Require ip) are one rule where any will do."""
    found = []
    for key, group in groupby(rule.children, key=lambda child: _list_of(ask, child) if rule.op == "or" else None):
        children = list(group)
        if key is None or len(children) == 1:
            found += [status(ask, child, user=user, parent=rule.op) for child in children]
        elif ask.concerns(key[1]):
            found.append(joined(ask, key[0], [child.args for child in children], user))
    return found


def _list_of(ask: Asking, rule: Rule) -> tuple[str, int] | None:
    """Name and methods of a rule that names networks, hosts or users; None of any other."""
    if rule.provider is None or rule.negate or rule.name not in CHECKS or rule.name in ask.settings.aliases["authzprovideralias"]:
        return None
    return (rule.name, rule.methods) if rule.name in ("ip", "user", "host") else None
