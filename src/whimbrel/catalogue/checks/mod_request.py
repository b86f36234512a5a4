"""mod_request's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, whole

CHECKS: dict[str, Rule] = {"keptbodysize": whole("KeptBodySize must be a valid size in bytes, or zero.")}
