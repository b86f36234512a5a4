"""mod_cache_socache's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import strtol
from whimbrel.catalogue.checks.providers import has_socache
from whimbrel.catalogue.checks.rules import CheckContext, Rule, size, when

MAX_UINT32 = 4294967295
MAX_SIZE = (
    "CacheSocacheMaxSize argument must be a integer representing the max size of a cached entry (headers "
    "and body), at least 1024 and at most"
    f" ({MAX_UINT32}U)"
)
READ = "{} argument must be a non-negative integer representing the max amount of {} to cache in go."
TIME = "{} argument must be the {} amount of time in seconds to cache an entry."


def _provider(words: list[str], around: CheckContext) -> str | None:
    name = words[0].partition(":")[0]
    if has_socache(name, around):
        return None
    return (
        f"Unknown socache provider '{name}'. Maybe you need to load the appropriate socache module "
        f"(mod_socache_{name}?)"
    )


CHECKS: dict[str, Rule] = {
    "cachesocache": _provider,
    "cachesocachemaxsize": when(
        lambda words, around: not 1024 <= strtol(words[0])[0] <= MAX_UINT32, MAX_SIZE
    ),
    "cachesocachemaxtime": size(0, TIME.format("CacheSocacheMaxTime", "maximum")),
    "cachesocachemintime": size(0, TIME.format("CacheSocacheMinTime", "minimum")),
    "cachesocachereadsize": size(0, READ.format("CacheSocacheReadSize", "data")),
    "cachesocachereadtime": size(0, READ.format("CacheSocacheReadTime", "time taken")),
}
