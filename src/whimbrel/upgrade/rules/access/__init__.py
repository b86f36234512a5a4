"""Who may come in: Order, Allow, Deny, Satisfy, Require and what became of them."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule

RULES: tuple[Rule, ...] = ()
