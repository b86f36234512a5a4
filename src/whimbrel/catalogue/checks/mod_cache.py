"""mod_cache's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import is_float, strtol
from whimbrel.catalogue.checks.rules import CheckContext, Rule, only, when


def _disable(words: list[str], around: CheckContext) -> str | None:
    if around.in_location:
        return (
            None
            if words[0].lower() == "on"
            else "CacheDisable must be followed by the word 'on' when in a Location."
        )
    return (
        None if words[0].startswith("/") or ":" in words[0] else "CacheDisable must specify a path or an URL."
    )


def _enable(words: list[str], around: CheckContext) -> str | None:
    if words[0].startswith("/"):
        return f"provider ({words[0]}) starts with a '/'.  Are url and provider switched?"
    if (
        around.is_per_directory
        and words[1:]
        and words[1].startswith("/")
        and not words[1].startswith(around.argument)
    ):
        return "When in a Location, CacheEnable must specify a path or an URL below that location."
    return (
        None
        if around.is_per_directory or len(words) > 1
        else f"CacheEnable provider ({words[0]}) is missing an URL."
    )


def _base_url(words: list[str], around: CheckContext) -> str | None:
    """A URL with a scheme, a host or a port."""
    scheme, colon, rest = words[0].partition(":")
    if colon and not scheme[:1].isalpha():
        return f"Could not parse '{words[0]}' as an URL."
    host = (rest if colon else scheme).removeprefix("//").partition("/")[0]
    port = host.rpartition(":")[2] if colon and rest.startswith("//") and ":" in host else ""
    if port and not port.isdigit():
        return f"Could not parse '{words[0]}' as an URL."
    return (
        None
        if colon or words[0].startswith("//")
        else f"URL '{words[0]}' must contain at least one of a scheme, a hostname or a port."
    )


CHECKS: dict[str, Rule] = {
    "cachedisable": only("2.4", _disable),
    "cacheenable": only("2.4", _enable),
    "cachekeybaseurl": _base_url,
    "cachelastmodifiedfactor": when(
        lambda words, around: not is_float(words[0]), "CacheLastModifiedFactor value must be a float"
    ),
    "cachelockmaxage": when(
        lambda words, around: strtol(words[0])[0] <= 0,
        "CacheLockMaxAge value must be a non-zero positive integer",
    ),
}
