"""mod_userdir's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, split, when

CHECKS: dict[str, Rule] = {"userdir": when(lambda words, around: not any(split(words[0])), "UserDir requires an argument.")}
