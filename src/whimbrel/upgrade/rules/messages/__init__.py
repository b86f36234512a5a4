"""Messages and symptoms of an upgrade."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule

RULES: tuple[Rule, ...] = ()
