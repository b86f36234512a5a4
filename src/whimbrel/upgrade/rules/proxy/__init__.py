"""Proxies, balancers and caches."""

from __future__ import annotations

from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.proxy import (
    c26_session_identifiers,
    c27_cache_forward_proxy,
    c37_scgi_path_info,
    x07_cache_in_memory,
)

RULES: tuple[Rule, ...] = (
    c26_session_identifiers.RULE,
    c27_cache_forward_proxy.RULE,
    c37_scgi_path_info.RULE,
    x07_cache_in_memory.RULE,
)
