"""Access control of 2.4 as a symbolic decision: mod_access_compat, authentication, and the rules of
mod_authz_core."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from whimbrel.access.authentication import check_user, has_user
from whimbrel.access.order_allow_deny import is_refused_by_compat
from whimbrel.access.outcomes import Outcomes, constant, if_else
from whimbrel.access.providers import CHECKS, joined_status, status_of
from whimbrel.access.query import AccessQuery
from whimbrel.access.space import Function
from whimbrel.access.ssl_conditions import is_refused_by_ssl
from whimbrel.modules.aaa.allow_deny import AllowDenyDirConfig
from whimbrel.modules.aaa.mod_authz_core.decide import _all, _any
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig, Rule
from whimbrel.modules.support.auth.auth_api import Authz
from whimbrel.registry.phases import DECLINED, OK

_ALL_METHODS: Final = -1
_NEGATED: Final = {
    Authz.GRANTED: Authz.DENIED,
    Authz.DENIED: Authz.NEUTRAL,
    Authz.DENIED_NO_USER: Authz.NEUTRAL,
}


def decide(query: AccessQuery) -> Outcomes:
    """Return the outcomes for requests of one method: OK, 401, 403, 500."""
    space = query.space
    compat = query.plan.loaded("access_compat_module")
    keeps_out = is_refused_by_ssl(query)
    if compat:
        keeps_out = keeps_out | is_refused_by_compat(query)
    hosts = if_else(space, keeps_out, 403, OK)
    user = access_checker_ex(query).replace(DECLINED, _with_user(query))
    if compat and query.dir_config(AllowDenyDirConfig).satisfy.get(query.method, "") == "any":
        return hosts.replace(403, user)
    return hosts.replace(OK, user)


def _with_user(query: AccessQuery) -> Outcomes:
    """Return the outcomes of authentication and of the phases after it."""
    user = check_user(query).map_values(lambda answer: 500 if answer == DECLINED else answer)
    if not has_user(query):
        return user.replace(OK, constant(query.space, 500))
    return user.replace(OK, auth_checker(query))


def access_checker_ex(query: AccessQuery) -> Outcomes:
    """Return the outcomes of the phase access_checker_ex: DECLINED if the result depends on a user."""
    if not query.plan.loaded("authz_core_module"):
        return constant(query.space, DECLINED)
    section = query.dir_config(AuthzCoreDirConfig).section
    if section is None:
        return _no_directives(query)
    answers = {Authz.GRANTED: OK, Authz.DENIED_NO_USER: DECLINED, Authz.GENERAL_ERROR: 500}
    return rule_status(query, section, user=False).map_values(lambda value: answers.get(value, 403))


def auth_checker(query: AccessQuery) -> Outcomes:
    """Return the outcomes of the phase auth_checker, with a known user."""
    if not query.plan.loaded("authz_core_module"):
        return constant(query.space, 500)
    record = query.dir_config(AuthzCoreDirConfig)
    if record.section is None:
        return _no_directives(query)
    refusal = 403 if query.auth_type() is None or record.forbidden else 401
    answers = {Authz.GRANTED: OK, Authz.GENERAL_ERROR: 500, Authz.DENIED_NO_USER: 401}
    return rule_status(query, record.section, user=True).map_values(lambda value: answers.get(value, refusal))


def _no_directives(query: AccessQuery) -> Outcomes:
    return constant(query.space, OK if query.auth_type() is None else 500)


# trees --------------------------------------------------------------------------------------------
def rule_status(query: AccessQuery, rule: Rule, *, user: bool, parent: str = "and") -> Outcomes:
    """Return the authz_status of a rule; *parent* is the operator of the container around it, *user* is True
    once a user is known."""
    if rule.methods != _ALL_METHODS and not query.applies_to(rule.methods):
        return constant(query.space, Authz.GRANTED if parent == "and" else Authz.NEUTRAL)
    if rule.provider is not None:
        outcomes = status_of(query, rule.name, rule.args, user)
    else:
        outcomes = _container(query, rule, user)
    return outcomes.map_values(lambda value: _NEGATED.get(value, value)) if rule.negate else outcomes


def _container(query: AccessQuery, rule: Rule, user: bool) -> Outcomes:
    """Combine the rules of a container with its operator, from the last to the first: diagrams grow at their
    root."""
    join, final = (_all, Authz.DENIED) if rule.op == "and" else (_any, Authz.GRANTED)
    result = constant(query.space, Authz.NEUTRAL)
    for outcomes in reversed(_statuses(query, rule, user)):
        when: dict[int, Function] = {}
        for value, function in outcomes.when.items():
            ends = value in (final, Authz.GENERAL_ERROR)  # later rules are not evaluated
            for later, reached in [(value, query.space.true)] if ends else result.when.items():
                then = later if later in (final, Authz.GENERAL_ERROR) else join(value, later)
                when[then] = when.get(then, query.space.false) | (function & reached)
        result = Outcomes(query.space, when)
    return result


def _statuses(query: AccessQuery, rule: Rule, user: bool) -> list[Outcomes]:
    """Return the statuses of the rules of a container.

    In a RequireAny, neighbours of one list provider (Require ip, Require ip) are evaluated as one rule.
    """
    statuses = []
    for key, group in groupby(
        rule.children, key=lambda child: _list_of(query, child) if rule.op == "or" else None
    ):
        children = list(group)
        if key is None or len(children) == 1:
            statuses += [rule_status(query, child, user=user, parent=rule.op) for child in children]
        elif query.applies_to(key[1]):
            statuses.append(joined_status(query, key[0], [child.args for child in children], user))
    return statuses


def _list_of(query: AccessQuery, rule: Rule) -> tuple[str, int] | None:
    """Return the name and methods of a rule about networks, hosts or users; None for other rules."""
    if (
        rule.provider is None
        or rule.negate
        or rule.name not in CHECKS
        or rule.name in query.settings.aliases["authzprovideralias"]
    ):
        return None
    return (rule.name, rule.methods) if rule.name in ("ip", "user", "host") else None
