"""mod_watchdog's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import timeout
from whimbrel.catalogue.checks.rules import CheckContext, Rule


def _interval(words: list[str], around: CheckContext) -> str | None:
    value = timeout(words[0], around.version)
    if value is None:
        return "Unparse-able WatchdogInterval setting"
    return "Invalid WatchdogInterval: minimal value 100ms" if value < 100 else None


CHECKS: dict[str, Rule] = {"watchdoginterval": _interval}
