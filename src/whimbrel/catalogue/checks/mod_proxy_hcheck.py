"""mod_proxy_hcheck's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import atoi, timeout
from whimbrel.catalogue.checks.rules import Around, Rule, between, split

METHODS = frozenset("none tcp options head get cping provider options11 head11 get11".split())
PAIR = "Invalid ProxyHCTemplate parameter. Parameter must be in the form 'key=value'"


def parameter(key: str, value: str, around: Around) -> str | None:
    """What is wrong with one health check parameter."""
    if key in ("hcpasses", "hcfails"):
        return f"{key[2:].capitalize()} must be a positive value" if atoi(value) < 0 else None
    if key == "hcinterval":
        time = timeout(value, around.version)
        return "Interval must be a positive value greater than 100ms" if time is None or time < 100 else None
    if key == "hcmethod":
        return None if value.lower() in METHODS else "Unknown method"
    return None if key in ("hcuri", "hcexpr", "hctemplate") else "unknown Worker hcheck parameter"


def _template(words: list[str], around: Around) -> str | None:
    """NAME key=value ...; names of ProxyHCExpr that hcexpr may use are unknown here."""
    name, *rest = split(words[0]) or [""]
    if not name:
        return "Missing template name for ProxyHCTemplate"
    for word in rest:
        key, equals, value = word.partition("=")
        if not equals:
            return PAIR
        if wrong := parameter(key.lower(), value, around):
            return f"ProxyHCTemplate: {wrong} {word}; {name}"
    return None


def _expression(words: list[str], around: Around) -> str | None:
    return "Missing expression for ProxyHCExpr" if len(split(words[0])) < 2 else None


CHECKS: dict[str, Rule] = {
    "proxyhctemplate": _template,
    "proxyhcexpr": _expression,
    "proxyhctpsize": between(0, None, "Invalid ProxyHCTPsize parameter. Parameter must be >= 0"),
}
