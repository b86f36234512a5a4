"""Processes, connections, user and locks."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.process import (
    c07_max_requests_per_child,
    c08_max_clients,
    c12_keep_alive,
    c15_mutexes,
    c45_unixd,
    c47_piped_logs,
    c53_older_than_22,
    c54_old_names,
    x23_log_level,
)

RULES: tuple[Rule, ...] = (
    c07_max_requests_per_child.RULE,
    c08_max_clients.RULE,
    c12_keep_alive.RULE,
    c15_mutexes.RULE,
    c45_unixd.RULE,
    c47_piped_logs.RULE,
    c53_older_than_22.RULE,
    c54_old_names.RULE,
    x23_log_level.RULE,
)
