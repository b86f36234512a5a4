"""Who may come in: Order, Allow, Deny, Satisfy, Require and what became of them."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule
from whimbrel.upgrade.rules.access import c17_order_allow_deny

RULES: tuple[Rule, ...] = (c17_order_allow_deny.RULE,)
