"""mod_cache_disk's argument rules, and those of its predecessor mod_disk_cache."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import atoi
from whimbrel.catalogue.checks.rules import CheckContext, Rule, size

LEVELS, LENGTH, MAX_LEVELS_TIMES_LENGTH = {"2.2": 3, "2.4": 2}, 2, 20


def _tree(name: str) -> Rule:
    """CacheDirLevels or CacheDirLength; the other one is assumed to have its default."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        value = atoi(words[0])
        if value < 1:
            return f"{name} value must be an integer greater than 0"
        other = LENGTH if name == "CacheDirLevels" else LEVELS[around.version]
        return (
            f"CacheDirLevels*CacheDirLength value must not be higher than {MAX_LEVELS_TIMES_LENGTH}"
            if value * other > MAX_LEVELS_TIMES_LENGTH
            else None
        )

    return rule


MAY = "{} argument must be a non-negative integer representing the {}"

CHECKS: dict[str, Rule] = {
    "cachedirlength": _tree("CacheDirLength"),
    "cachedirlevels": _tree("CacheDirLevels"),
    "cachemaxfilesize": size(0, MAY.format("CacheMaxFileSize", "max size of a file to cache in bytes.")),
    "cacheminfilesize": size(0, MAY.format("CacheMinFileSize", "min size of a file to cache in bytes.")),
    "cachereadsize": size(0, MAY.format("CacheReadSize", "max amount of data to cache in go.")),
    "cachereadtime": size(0, MAY.format("CacheReadTime", "max amount of time taken to cache in go.")),
}
