"""mod_cache's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import is_float, strtol
from whimbrel.catalogue.checks.rules import Around, Rule, only, when


def _disable(words: list[str], around: Around) -> str | None:
    if around.location:
        return None if words[0].lower() == "on" else "CacheDisable must be followed by the word 'on' when in a Location."
    return None if words[0].startswith("/") or ":" in words[0] else "CacheDisable must specify a path or an URL."


def _enable(words: list[str], around: Around) -> str | None:
    if around.location or len(words) > 1:
        return None
    return f"CacheEnable provider ({words[0]}) is missing an URL."


CHECKS: dict[str, Rule] = {
    "cachedisable": only("2.4", _disable),
    "cacheenable": only("2.4", _enable),
    "cachelastmodifiedfactor": when(lambda words, around: not is_float(words[0]), "CacheLastModifiedFactor value must be a float"),
    "cachelockmaxage": when(lambda words, around: strtol(words[0])[0] <= 0, "CacheLockMaxAge value must be a non-zero positive integer"),
}
