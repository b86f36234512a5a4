"""Upgrade rules by area: one file for each row of the table of changes, named by its number.

Public: all_rules().  A rule is a `Rule` with a check function that yields findings in the order of the files.
Each rule has a document in upgrade/documents/ whose examples are its tests.
Must not import: check, apply, cli; another rule only for its tables.
"""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules import access, content, core, messages, modules, process, proxy, rewriting, tls


def all_rules() -> tuple[Rule, ...]:
    """Every rule in the order of the numbers, C before R before X."""
    areas = (access, content, core, messages, modules, process, proxy, rewriting, tls)
    return tuple(sorted((rule for area in areas for rule in area.RULES), key=lambda rule: rule.number))
