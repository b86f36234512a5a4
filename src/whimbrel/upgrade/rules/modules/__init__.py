"""Building, loading and replacing modules."""

from __future__ import annotations

from whimbrel.upgrade.model import Rule
from whimbrel.upgrade.rules.modules import c02_cache_disk, c03_lbmethods, c04_compiled_in, c05_new_and_gone

RULES: tuple[Rule, ...] = (
    c02_cache_disk.RULE,
    c03_lbmethods.RULE,
    c04_compiled_in.RULE,
    c05_new_and_gone.RULE,
)
