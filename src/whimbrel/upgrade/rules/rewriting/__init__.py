"""Rewritten URLs: differences beyond the table of changes, under numbers of their own."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.rewriting import (
    r01_unsafe_urls,
    r02_redirect_queries,
    r03_compared_case,
    r04_no_slash,
)

RULES: tuple[Rule, ...] = (
    r01_unsafe_urls.RULE,
    r02_redirect_queries.RULE,
    r03_compared_case.RULE,
    r04_no_slash.RULE,
)
