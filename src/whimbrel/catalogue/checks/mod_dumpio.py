"""mod_dumpio's argument rules (2.2; 2.4 has no DumpIOLogLevel)."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, one_of

LEVELS = "emerg alert crit error warn notice info debug"

CHECKS: dict[str, Rule] = {"dumpiologlevel": one_of(LEVELS, f"DumpIOLogLevel requires level keyword: one of {LEVELS.replace(' ', '/')}")}
