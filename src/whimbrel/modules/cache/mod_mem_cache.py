"""mod_mem_cache (2.2): the store ``mem`` of mod_cache, in the memory of each worker."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower, strtol
from whimbrel.base.static_typing import Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter, Versions
from whimbrel.modules.cache.mem_cache_settings import KILOBYTE, MemCacheServerConfig
from whimbrel.modules.cache.store import CacheStore
from whimbrel.modules.support.setters import of_main, set_value
from whimbrel.registry.module import Module, Provider


def set_number(field: str, message: str, unit: int = 1, low: int | None = None) -> Setter:
    """Return the setter of a number, refused with *message* if the word begins with none or it is too low."""

    def apply(cmd: Command, _record: object, words: list[str]) -> None:
        value, rest = strtol(words[0])
        if rest == words[0] or (low is not None and value < low):
            raise ConfigError(message)
        setattr(cmd.main_server(MemCacheServerConfig), field, value * unit)

    return apply


def set_streaming(cmd: Command, _record: object, words: list[str]) -> None:
    """MCacheMaxStreamingBuffer."""
    value, rest = strtol(words[0])
    if rest:
        raise ConfigError("MCacheMaxStreamingBuffer value must be a number")
    cmd.main_server(MemCacheServerConfig).streaming = value


def make_store() -> CacheStore:
    """Return the store; it is imported when a request needs it."""
    from whimbrel.modules.cache.memory_store import MemoryStore

    return MemoryStore()


_SIZE: Final = "MCacheSize argument must be an integer representing the max cache size in KBytes."
_LEAST: Final = "MCacheMinObjectSize value must be an positive integer (bytes)"
_MOST: Final = "MCacheMaxObjectSize value must be an integer (bytes)"
MODULE: Final = Module(
    name="mem_cache_module",
    source="mod_mem_cache.c",
    versions=Versions.V22,
    server_config=MemCacheServerConfig,
    setters={
        "MCacheSize": set_number("size", _SIZE, KILOBYTE),
        "MCacheMaxObjectCount": set_number("count", "MCacheMaxObjectCount value must be an integer"),
        "MCacheMinObjectSize": set_number("min_object", _LEAST, low=1),
        "MCacheMaxObjectSize": set_number("max_object", _MOST),
        "MCacheRemovalAlgorithm": of_main(
            MemCacheServerConfig, set_value("is_lru", lambda word: lower(word) == "lru")
        ),
        "MCacheMaxStreamingBuffer": set_streaming,
    },
    providers=(Provider("cache", "mem", make_store), Provider("cache", "fd", make_store)),
)
