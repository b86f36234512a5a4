"""The rules by area: one file for each row of the table of changes, or for rows that only make sense together."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule
from whimbrel.upgrade.rules import access, content, core, messages, modules, process, proxy, rewriting, tls


def all_rules() -> tuple[Rule, ...]:
    """Every rule in the order of the numbers, C before R before X."""
    areas = (access, content, core, messages, modules, process, proxy, rewriting, tls)
    return tuple(sorted((rule for area in areas for rule in area.RULES), key=lambda rule: rule.number))
