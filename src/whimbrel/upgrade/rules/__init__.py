"""Upgrade rules by area: one file for each row of the table of changes, named by its number.

Public: all_rules(), rules_of(area).  Both discover the rule files; a rule is the `RULE` of its file.
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
