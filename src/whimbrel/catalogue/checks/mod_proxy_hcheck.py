"""mod_proxy_hcheck's argument rules."""

from __future__ import annotations

import re

from whimbrel.catalogue.checks.numbers import atoi, timeout
from whimbrel.catalogue.checks.rules import CheckContext, Declarer, Rule, in_range, split_args
from whimbrel.syntax.words import getword, getword_braced

METHODS = frozenset("none tcp options head get cping provider options11 head11 get11".split())
PAIR = "Invalid ProxyHCTemplate parameter. Parameter must be in the form 'key=value'"
_BODY = re.compile(r"\bhc\(")  # defined in these expressions only


def parameter(key: str, value: str, around: CheckContext) -> str | None:
    """Return the error in one health check parameter, or None."""
    if key in ("hcpasses", "hcfails"):
        return f"{key[2:].capitalize()} must be a positive value" if atoi(value) < 0 else None
    if key == "hcinterval":
        time = timeout(value, around.version)
        return "Interval must be a positive value greater than 100ms" if time is None or time < 100 else None
    if key == "hcmethod":
        return None if value.lower() in METHODS else "Unknown method"
    if key == "hcexpr" and value not in around.declared.get("health check", ()):
        return f"Unknown health check condition expr: {value}"
    return None if key in ("hcuri", "hcexpr", "hctemplate") else "unknown Worker hcheck parameter"


def _template(words: list[str], around: CheckContext) -> str | None:
    """NAME key=value ..."""
    name, *rest = split_args(words[0]) or [""]
    if not name:
        return "Missing template name for ProxyHCTemplate"
    for word in rest:
        key, equals, value = word.partition("=")
        if not equals:
            return PAIR
        if wrong := parameter(key.lower(), value, around):
            return f"ProxyHCTemplate: {wrong} {word}; {name}"
    return None


def _expression(words: list[str], around: CheckContext) -> str | None:
    name, rest = getword(words[0])
    text, after = getword_braced(words[0][rest:])
    if not name or not text:
        return f"Missing expression{'' if name else ' name'} for ProxyHCExpr"
    if after.strip():
        return "error: extra parameter(s)"
    wrong = around.expression_error(_BODY.sub("tolower(", text), False)
    return f'Could not parse expression "{text}": {wrong}' if wrong else None


CHECKS: dict[str, Rule] = {
    "proxyhctemplate": _template,
    "proxyhcexpr": _expression,
    "proxyhctpsize": in_range(0, None, "Invalid ProxyHCTPsize parameter. Parameter must be >= 0"),
}
DECLARES: dict[str, Declarer] = {
    "proxyhcexpr": lambda words, around: [("health check", name) for name in split_args(words[0])[:1]]
}
