"""What a chain of sections decides about a client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.access import authz24, chain22
from whimbrel.access.asking import Asking
from whimbrel.access.atoms import MethodIs
from whimbrel.access.cases import Cases, chosen
from whimbrel.access.decision import Decision, Space, Verdict
from whimbrel.access.layers import Layer
from whimbrel.access.merged import Broken, Settings, World
from whimbrel.config.core import CoreFolder
from whimbrel.config.load import deep_recursion
from whimbrel.dialect import Dialect
from whimbrel.modules.allow_deny import AllowDenySettings
from whimbrel.modules.mod_authz_core.settings import AuthzCoreSettings, Rule
from whimbrel.registry.methods import INVALID
from whimbrel.registry.phases import OK
from whimbrel.request.plan import Plan

__all__ = ["World", "decide"]
_VERDICTS: Final = {OK: Verdict.GRANTED, 401: Verdict.CHALLENGE, 403: Verdict.FORBIDDEN, 500: Verdict.ERROR}


def decide(chain: Sequence[Layer], dialect: Dialect, world: World, space: Space) -> Decision:
    """The decision of *chain*, which is in httpd's order of merging, outermost first.

    Raises ConfigError where the server wouldn't start, Undecided where an answer rests on what no atom stands for.  A .htaccess file with an error
    makes it ERROR for everybody.
    """
    settings = world.settings(dialect)
    with deep_recursion():
        try:
            plan = settings.merged(chain)
        except Broken:
            return Decision(space, {Verdict.ERROR: space.true}, dialect.name)
        cases = _by_method(Asking(space, world, settings, plan, chain, INVALID))
    return Decision(space, {_VERDICTS[answer]: function for answer, function in cases.when.items()}, dialect.name)


def _by_method(ask: Asking) -> Cases:
    """One decision per class of methods that the configuration treats alike; methods that nobody has registered are the last class."""
    masks = list(dict.fromkeys(_masks(ask.plan, ask.settings)))
    classes: dict[tuple[bool, ...], list[str]] = {}
    number = ask.settings.configuration.methods.number
    for name in ask.settings.configuration.methods.known():
        classes.setdefault(tuple(bool(mask >> number(name) & 1) for mask in masks), []).append(name)
    others = tuple(bool(mask >> INVALID & 1) for mask in masks)
    result = _one(ask, INVALID)
    for kind, names in classes.items():
        if kind != others:
            test = ask.space.any_of(ask.holds(MethodIs(name)) for name in reversed(names))
            result = chosen(ask.space, test, _one(ask, number(names[0])), result)
    return result


def _one(ask: Asking, method: int) -> Cases:
    one = Asking(ask.space, ask.world, ask.settings, ask.plan, ask.chain, method)
    return chain22.decided(one) if ask.old else authz24.decided(one)


def _masks(plan: Plan, settings: Settings) -> Iterator[int]:
    """Every mask of methods that the merged settings hold."""
    lists = plan.folder(AllowDenySettings)
    core = plan.folder(CoreFolder)
    for entry in (*lists.allows, *lists.denies):
        yield entry.methods
    for setting in (lists.order, lists.satisfy, core.satisfy):
        for value in sorted(set(setting.values())):
            yield sum(1 << number for number, known in setting.items() if known == value)
    for line in core.requires:
        yield line.methods
    section = plan.folder(AuthzCoreSettings).section
    if section is not None:
        yield from _rule_masks(section, settings)


def _rule_masks(rule: Rule, settings: Settings) -> Iterator[int]:
    yield rule.methods
    alias = settings.aliases["authzprovideralias"].get(rule.name)
    if rule.name == "method" or (alias is not None and alias.base == "method"):
        words = rule.args if alias is None else alias.given
        yield sum(1 << number for number in {settings.configuration.methods.number(name) for name in words.split()})
    for child in rule.children:
        yield from _rule_masks(child, settings)
