"""Upgrade rules by area: one file for each row of the table of changes, named by its number.

Public: all_rules(), rules_of(area), rule_names().  They discover the rule files; a rule is its `RULE`.
Each rule has a document in upgrade/documents/ whose examples are its tests.
Must not import: check, apply, cli; another rule only for its tables.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from whimbrel.upgrade.rule import Rule

_RULE_FILE: Final = re.compile(r"[crx]\d\d_")


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule in the order of the numbers, C before R before X."""
    areas = (module.name for module in iter_modules(__path__) if module.ispkg)
    return tuple(sorted((rule for area in areas for rule in rules_of(area)), key=lambda rule: rule.number))


@cache
def rules_of(area: str) -> tuple[Rule, ...]:
    """Return the rules of one sub-package, such as ``access``, in the order of the numbers."""
    package = import_module(f"{__name__}.{area}")
    names = sorted(module.name for module in iter_modules(package.__path__))
    return tuple(import_module(f"{package.__name__}.{name}").RULE for name in names if _RULE_FILE.match(name))


def rule_names() -> dict[str, str]:
    """Return the short name of each number."""
    return {number: rule.name for rule in all_rules() for number in (*rule.also, rule.number)}
