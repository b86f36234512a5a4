"""Processes, connections, user and locks."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule
from whimbrel.upgrade.rules.process import c07_max_requests_per_child, c45_unixd

RULES: tuple[Rule, ...] = (
    c07_max_requests_per_child.RULE,
    c45_unixd.RULE,
)
