"""Settings of mod_cache."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.http.syntax.target import UriParts
from whimbrel.registry.settings import appended, setting

LOCK_DIRECTORY: Final = "mod_cache-lock"


@dataclass(frozen=True, slots=True)
class CachedUrl:
    """The second argument of CacheEnable, with the store *kind*; or that of CacheDisable."""

    kind: str
    url: UriParts


@dataclass(slots=True)
class CacheDirConfig:
    """Per-directory settings; times in seconds.

    Attributes:
        enabled: stores of CacheEnable in this section; `is_disabled`: CacheDisable on.
        ignores_no_last_modified, stores_expired, stores_private, stores_no_store, stale_on_error: directives.
        max_expire, min_expire, default_expire, factor: of heuristic lifetimes, and bounds of max-age.
        header, detail_header: X-Cache and X-Cache-Detail; None where the section says nothing.
    """

    enabled: tuple[str, ...] = setting((), merge=appended)
    is_disabled: bool = setting(False)
    ignores_no_last_modified: bool = setting(False)
    stores_expired: bool = setting(False)
    stores_private: bool = setting(False)
    stores_no_store: bool = setting(False)
    stale_on_error: bool = setting(True)
    max_expire: int = setting(86400)
    min_expire: int = setting(0)
    default_expire: int = setting(3600)
    factor: float = setting(0.1)
    header: bool | None = setting(None)
    detail_header: bool | None = setting(None)


@dataclass(slots=True)
class CacheServerConfig:
    """Per-server settings.

    Attributes:
        enabled, disabled: CacheEnable and CacheDisable, those of the main server first.
        is_quick: the cache runs before all other phases.
        ignored_fields: CacheIgnoreHeaders; `session_ids`: CacheIgnoreURLSessionIdentifiers.
        base_url: CacheKeyBaseURL.
        locks, lock_path, lock_max_age: CacheLock..., the age in seconds; "" is the default path.
    """

    enabled: tuple[CachedUrl, ...] = setting((), merge=appended)
    disabled: tuple[CachedUrl, ...] = setting((), merge=appended)
    is_quick: bool = setting(True)
    ignores_cache_control: bool = setting(False)
    ignores_query: bool = setting(False)
    ignored_fields: tuple[str, ...] = setting(())
    session_ids: tuple[str, ...] = setting(())
    base_url: UriParts | None = setting(None)
    locks: bool = setting(False)
    lock_path: str = setting("")
    lock_max_age: int = setting(5)
    header: bool = setting(False)
    detail_header: bool = setting(False)
