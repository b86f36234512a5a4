"""mod_cache: responses are stored and reused by the rules of RFC 9111.

`select.py` finds an entry, `freshness.py` decides whether it may be used, `storing.py` whether a response may
be stored, `save_filter.py` stores it, `hooks.py` has the handlers. Stores are other modules (../store.py).
The engine's own response cache may hold a hit for as long as entry, request fields and freshness allow
(docs/cache.md). Manual: mod/mod_cache.html.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Versions
from whimbrel.modules.cache.mod_cache import setters
from whimbrel.modules.cache.mod_cache.markers import PROVIDERS
from whimbrel.modules.cache.mod_cache.settings import CacheDirConfig, CacheServerConfig
from whimbrel.modules.cache.numbers import rows
from whimbrel.modules.support.setters import Setter, set_flag, set_path
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import HANDLER, INSERT_ERROR_FILTER, LOG_TRANSACTION, QUICK_HANDLER

_HOOKS: Final = "whimbrel.modules.cache.mod_cache.hooks"
_V24: Final = Versions.V24


def _server(
    name: str, args: Args, apply: Setter, help: str, versions: Versions = Versions.BOTH
) -> tuple[AnyDirective, ...]:
    return rows(name, args, apply, help, record=ConfigScope.SERVER, versions=versions)


def _flag(name: str, field: str, help: str, versions: Versions = Versions.BOTH) -> tuple[AnyDirective, ...]:
    return rows(name, Args.FLAG, set_flag(field), help, versions=versions)


_ENABLE_HELP: Final = "A cache type and partial URL prefix below which caching is enabled"
_EXPIRED_HELP: Final = (
    "Ignore expiration dates when populating cache, resulting in an If-Modified-Since request to the backend "
    "on retrieval"
)
_SESSIONS_HELP: Final = (
    "A space separated list of session identifiers that should be ignored for creating the key of the cached "
    "entity."
)
_LOCK_PATH_HELP: Final = (
    "The thundering herd lock path. Defaults to the '/mod_cache-lock' directory in the system temp directory."
)
DIRECTIVES: Final = (
    *rows("CacheEnable", Args.TAKE2, setters.enable, _ENABLE_HELP, versions=Versions.V22),
    *rows("CacheEnable", Args.TAKE12, setters.enable, _ENABLE_HELP, versions=_V24),
    *rows(
        "CacheDisable",
        Args.TAKE1,
        setters.disable,
        "A partial URL prefix below which caching is disabled",
    ),
    *rows(
        "CacheMaxExpire",
        Args.TAKE1,
        setters.set_seconds("max_expire"),
        "The maximum time in seconds to cache a document",
    ),
    *rows(
        "CacheMinExpire",
        Args.TAKE1,
        setters.set_seconds("min_expire"),
        "The minimum time in seconds to cache a document",
        versions=_V24,
    ),
    *rows(
        "CacheDefaultExpire",
        Args.TAKE1,
        setters.set_seconds("default_expire"),
        "The default time in seconds to cache a document",
    ),
    *_server(
        "CacheQuickHandler",
        Args.FLAG,
        set_flag("is_quick"),
        "Run the cache in the quick handler, default on",
        _V24,
    ),
    *_flag(
        "CacheIgnoreNoLastMod",
        "ignores_no_last_modified",
        "Ignore Responses where there is no Last Modified Header",
    ),
    *_server(
        "CacheIgnoreCacheControl",
        Args.FLAG,
        set_flag("ignores_cache_control"),
        "Ignore requests from the client for uncached content",
    ),
    *_flag("CacheStoreExpired", "stores_expired", _EXPIRED_HELP, _V24),
    *_flag(
        "CacheStorePrivate",
        "stores_private",
        "Ignore 'Cache-Control: private' and store private content",
    ),
    *_flag(
        "CacheStoreNoStore",
        "stores_no_store",
        "Ignore 'Cache-Control: no-store' and store sensitive content",
    ),
    *_server(
        "CacheIgnoreHeaders",
        Args.ITERATE,
        setters.add_name("ignored_fields"),
        "A space separated list of headers that should not be stored by the cache",
    ),
    *_server(
        "CacheIgnoreQueryString",
        Args.FLAG,
        set_flag("ignores_query"),
        "Ignore query-string when caching",
    ),
    *_server(
        "CacheIgnoreURLSessionIdentifiers",
        Args.ITERATE,
        setters.add_name("session_ids"),
        _SESSIONS_HELP,
    ),
    *rows(
        "CacheLastModifiedFactor",
        Args.TAKE1,
        setters.set_factor,
        "The factor used to estimate Expires date from LastModified date",
    ),
    *_server("CacheLock", Args.FLAG, set_flag("locks"), "Enable or disable the thundering herd lock."),
    *_server("CacheLockPath", Args.TAKE1, set_path("lock_path"), _LOCK_PATH_HELP),
    *_server(
        "CacheLockMaxAge",
        Args.TAKE1,
        setters.set_lock_max_age,
        "Maximum age of any thundering herd lock.",
    ),
    *rows(
        "CacheHeader",
        Args.FLAG,
        setters.set_by_place("header"),
        "Add a X-Cache header to responses. Default is off.",
        versions=_V24,
    ),
    *rows(
        "CacheDetailHeader",
        Args.FLAG,
        setters.set_by_place("detail_header"),
        "Add a X-Cache-Detail header to responses. Default is off.",
        versions=_V24,
    ),
    *_server(
        "CacheKeyBaseURL",
        Args.TAKE1,
        setters.set_base_url,
        "Override the base URL of reverse proxied cache keys.",
        _V24,
    ),
    *_flag(
        "CacheStaleOnError",
        "stale_on_error",
        "Serve stale content on 5xx errors if present. Defaults to on.",
        _V24,
    ),
)


MODULE: Final = Module(
    name="cache_module",
    source="mod_cache.c",
    dir_config=CacheDirConfig,
    server_config=CacheServerConfig,
    directives=DIRECTIVES,
    hooks=(
        Hook(QUICK_HANDLER, lazy_maker(_HOOKS, "make_quick_handler"), Order.FIRST),
        Hook(HANDLER, lazy_maker(_HOOKS, "make_handler"), Order.REALLY_FIRST),
        Hook(INSERT_ERROR_FILTER, lazy_maker(_HOOKS, "make_error_filter"), Order.MIDDLE),
        Hook(LOG_TRANSACTION, lazy_maker(_HOOKS, "make_log"), Order.REALLY_FIRST),
    ),
    providers=PROVIDERS,
)
