"""X07 and the caches of X24: mod_mem_cache is gone, mod_cache_socache is its successor.

Document: documents/X07-cache-in-memory.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import change_args, remove_line, replace_guarded
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import lines_for_24

GONE: Final = (
    "mcachesize",
    "mcachemaxobjectsize",
    "mcachemaxobjectcount",
    "mcacheminobjectsize",
    "mcachemaxstreamingbuffer",
    "mcacheremovalalgorithm",
)
MIN_SIZE: Final = 1024
MAX_SIZE: Final = 4294967295
"""The maximum of CacheSocacheMaxSize."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield caches of the types mem and fd, and the directives of mod_mem_cache."""
    for line in tree.named("cacheenable"):
        words = line.words()
        if len(words) == 2 and words[0].lower() in ("mem", "fd"):
            yield Finding(
                "X07",
                line.place,
                f"2.4 accepts CacheEnable {words[0]} but caches nothing: mod_mem_cache is gone",
                "use mod_cache_socache with a shared object cache, or remove the line",
                Risk.CHANGES,
                Safety.REVIEW,
                change_args(tree, line, f"socache {words[1]}"),
                decision="May mod_cache_socache cache here?",
            )
    yield from _settings(tree)


def _settings(tree: ConfigTree) -> Iterator[Finding]:
    caches = any(line.words()[:1] == ["socache"] for line in lines_for_24(tree, "cacheenable"))
    caches = caches or any(
        line.words()[:1] and line.words()[0].lower() in ("mem", "fd") for line in tree.named("cacheenable")
    )
    for line in tree.named(*GONE):
        if line.file.role is Role.HTACCESS:
            continue  # both versions refuse it there
        yield Finding(
            "X24",
            line.place,
            (f"{line.node.name} is a directive of mod_mem_cache, which is gone: 2.4 does not start with it"),
            "remove it; CacheSocache and CacheSocacheMaxSize bound the size of mod_cache_socache",
            Risk.BREAKS,
            Safety.REVIEW,
            _successor(tree, line) if caches else remove_line(tree, line),
            decision="Is what bounds the cache right?" if caches else "May the line go with mod_mem_cache?",
        )


def _successor(tree: ConfigTree, line: Statement) -> tuple[FileEdit, ...]:
    number = next((int(word) for word in line.words() if word.isdecimal()), 0)
    if line.name == "mcachesize" and number and not tree.has("cachesocache"):
        return replace_guarded(tree, line, [f"CacheSocache shmcb:cache_mem({number * 1024})"])
    if line.name == "mcachemaxobjectsize" and number and not tree.has("cachesocachemaxsize"):
        return replace_guarded(tree, line, [f"CacheSocacheMaxSize {min(max(number, MIN_SIZE), MAX_SIZE)}"])
    return remove_line(tree, line)


RULE = Rule("X07", "cache-in-memory", "CacheEnable mem is CacheEnable socache", check, also=("X24",))
