"""mod_proxy_connect's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Rule


def _ports(words: list[str], around: CheckContext) -> str | None:
    """PORT or FIRST-LAST"""
    word = words[0]
    if not word[:1].isdigit():
        return "AllowCONNECT: port numbers must be numeric"
    low, dash, high = word.partition("-")
    if not low.isdigit():
        return f"Cannot parse '{word}' as port number"
    return f"Cannot parse '{high}' as port number" if dash and not high.isdigit() else None


CHECKS: dict[str, Rule] = {"allowconnect": _ports}
