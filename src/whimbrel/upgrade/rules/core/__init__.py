"""Files that are read, defaults and values of the core, virtual hosts."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule

RULES: tuple[Rule, ...] = ()
