"""mod_actions' argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, one_of

CHECKS: dict[str, Rule] = {"action": one_of("virtual", "unrecognized option '{2}'", at=2)}
