"""The decision of a chain of sections about each client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.access import authz22, authz24
from whimbrel.access.atoms import MethodIs
from whimbrel.access.decision import AccessDecision, AccessVerdict
from whimbrel.access.environment import AccessEnvironment, BrokenHtaccess, ModuleSettings
from whimbrel.access.layers import AccessLayer
from whimbrel.access.outcomes import Outcomes, choose_outcomes
from whimbrel.access.query import AccessQuery
from whimbrel.access.space import Space
from whimbrel.base.dialect import Dialect
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.load import DeepRecursion
from whimbrel.engine.plan.plan import Plan
from whimbrel.modules.aaa.allow_deny import AllowDenyDirConfig
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig, Rule
from whimbrel.registry.methods import INVALID
from whimbrel.registry.phases import OK

__all__ = ["AccessEnvironment", "decide"]
_VERDICTS: Final = {
    OK: AccessVerdict.GRANTED,
    401: AccessVerdict.CHALLENGE,
    403: AccessVerdict.FORBIDDEN,
    500: AccessVerdict.ERROR,
}


def decide(
    chain: Sequence[AccessLayer], dialect: Dialect, environment: AccessEnvironment, space: Space
) -> AccessDecision:
    """Return the decision of *chain*, which is in merge order, outermost first.

    Raises ConfigError if the server would refuse to start, Undecided if the decision depends on something
    without an atom. A .htaccess file with an error gives ERROR for every client.
    """
    settings = environment.settings(dialect)
    with DeepRecursion():
        try:
            plan = settings.merge(chain)
        except BrokenHtaccess:
            return AccessDecision(space, {AccessVerdict.ERROR: space.true}, dialect.name)
        return decide_plan(AccessQuery(space, environment, settings, plan, chain, INVALID))


def decide_plan(query: AccessQuery) -> AccessDecision:
    """Return the decision of the plan of *query* for all methods; raises Undecided."""
    cases = _by_method(query)
    return AccessDecision(
        query.space,
        {_VERDICTS[answer]: function for answer, function in cases.when.items()},
        query.plan.dialect.name,
    )


def _by_method(query: AccessQuery) -> Outcomes:
    """Decide once per class of methods that the configuration treats alike; the last class holds the
    unregistered methods.
    """
    masks = [mask for mask in dict.fromkeys(_method_masks(query.plan, query.settings)) if mask not in (0, -1)]
    if not masks:  # no <Limit>: all methods are alike
        return _for_method(query, INVALID)
    classes: dict[tuple[bool, ...], list[str]] = {}
    number = query.settings.configuration.methods.number
    for name in query.settings.configuration.methods.known():
        classes.setdefault(tuple(bool(mask >> number(name) & 1) for mask in masks), []).append(name)
    others = tuple(bool(mask >> INVALID & 1) for mask in masks)
    result = _for_method(query, INVALID)
    for kind, names in classes.items():
        if kind != others:
            test = query.space.any_of(query.variable(MethodIs(name)) for name in reversed(names))
            result = choose_outcomes(query.space, test, _for_method(query, number(names[0])), result)
    return result


def _for_method(query: AccessQuery, method: int) -> Outcomes:
    method_query = AccessQuery(
        query.space, query.environment, query.settings, query.plan, query.chain, method
    )
    return authz22.decide(method_query) if query.is_22 else authz24.decide(method_query)


def _method_masks(plan: Plan, settings: ModuleSettings) -> Iterator[int]:
    """Yield every method mask of the merged settings."""
    lists = plan.dir_config(AllowDenyDirConfig)
    core = plan.dir_config(CoreDirConfig)
    for entry in (*lists.allows, *lists.denies):
        yield entry.methods
    for setting in (lists.order, lists.satisfy, core.satisfy):
        for value in sorted(set(setting.values())):
            yield sum(1 << number for number, known_value in setting.items() if known_value == value)
    for line in core.requires:
        yield line.methods
    section = plan.dir_config(AuthzCoreDirConfig).section
    if section is not None:
        yield from _rule_masks(section, settings)


def _rule_masks(rule: Rule, settings: ModuleSettings) -> Iterator[int]:
    yield rule.methods
    alias = settings.aliases["authzprovideralias"].get(rule.name)
    if rule.name == "method" or (alias is not None and alias.base == "method"):
        words = rule.args if alias is None else alias.args
        yield sum(
            1 << number for number in {settings.configuration.methods.number(name) for name in words.split()}
        )
    for child in rule.children:
        yield from _rule_masks(child, settings)
