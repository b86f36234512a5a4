"""Settings of mod_cache_socache."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.registry.settings import setting


@dataclass(slots=True)
class CacheSocacheServerConfig:
    """Per-server settings: name and argument of the object cache; ("", "") without one."""

    kind: tuple[str, str] = setting(("", ""))


@dataclass(slots=True)
class CacheSocacheDirConfig:
    """Per-directory settings: bytes of an entry with its fields; seconds."""

    max_size: int = setting(102400)
    max_time: int = setting(86400)
    min_time: int = setting(600)
    read_size: int = setting(0)
    read_time: int = setting(0)
