"""Settings of mod_mem_cache."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.registry.settings import setting

KILOBYTE: Final = 1024


@dataclass(slots=True)
class MemCacheServerConfig:
    """The main server's settings: bytes and numbers of entries; `is_lru`: not GDSF."""

    size: int = setting(100 * KILOBYTE)
    count: int = setting(1009)
    max_object: int = setting(10000)
    min_object: int = setting(1)
    streaming: int = setting(100_000)
    is_lru: bool = setting(False)
