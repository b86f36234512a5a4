"""TLS and directories."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule

RULES: tuple[Rule, ...] = ()
