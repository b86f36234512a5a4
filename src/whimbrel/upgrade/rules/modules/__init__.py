"""Building, loading and replacing modules."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules import (
    c01_configure_line,
    c02_cache_disk,
    c03_lbmethods,
    c04_compiled_in,
    c05_new_and_gone,
    c06_foreign_modules,
    c48_password_hashes,
    x11_branches,
    x19_remote_address,
    x24_successors,
)

RULES: tuple[Rule, ...] = (
    c01_configure_line.RULE,
    c02_cache_disk.RULE,
    c03_lbmethods.RULE,
    c04_compiled_in.RULE,
    c05_new_and_gone.RULE,
    c06_foreign_modules.RULE,
    c48_password_hashes.RULE,
    x11_branches.RULE,
    x19_remote_address.RULE,
    x24_successors.RULE,
)
