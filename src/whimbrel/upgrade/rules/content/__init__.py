"""Filters, includes, listings, logs: what an answer consists of."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule

RULES: tuple[Rule, ...] = ()
