"""mod_cache: responses are stored and reused by the rules of RFC 9111.

`select.py` finds an entry, `freshness.py` decides whether it may be used, `storing.py` whether a response may
be stored, `save_filter.py` stores it, `hooks.py` has the handlers. Stores are other modules (../store.py).
The engine's own response cache may hold a hit for as long as entry, request fields and freshness allow
(docs/cache.md).
"""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.modules.cache.mod_cache import setters
from whimbrel.modules.cache.mod_cache.markers import PROVIDERS
from whimbrel.modules.cache.mod_cache.settings import CacheDirConfig, CacheServerConfig
from whimbrel.modules.support.setters import set_flag, set_path
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import HANDLER, INSERT_ERROR_FILTER, LOG_TRANSACTION, QUICK_HANDLER

_HOOKS: Final = "whimbrel.modules.cache.mod_cache.hooks"


MODULE: Final = Module(
    name="cache_module",
    source="mod_cache.c",
    dir_config=CacheDirConfig,
    server_config=CacheServerConfig,
    dir_setters={
        "CacheEnable": setters.enable,
        "CacheDisable": setters.disable,
        "CacheMaxExpire": setters.set_seconds("max_expire"),
        "CacheMinExpire": setters.set_seconds("min_expire"),
        "CacheDefaultExpire": setters.set_seconds("default_expire"),
        "CacheIgnoreNoLastMod": set_flag("ignores_no_last_modified"),
        "CacheStoreExpired": set_flag("stores_expired"),
        "CacheStorePrivate": set_flag("stores_private"),
        "CacheStoreNoStore": set_flag("stores_no_store"),
        "CacheLastModifiedFactor": setters.set_factor,
        "CacheHeader": setters.set_by_place("header"),
        "CacheDetailHeader": setters.set_by_place("detail_header"),
        "CacheStaleOnError": set_flag("stale_on_error"),
    },
    server_setters={
        "CacheQuickHandler": set_flag("is_quick"),
        "CacheIgnoreCacheControl": set_flag("ignores_cache_control"),
        "CacheIgnoreHeaders": setters.add_name("ignored_fields"),
        "CacheIgnoreQueryString": set_flag("ignores_query"),
        "CacheIgnoreURLSessionIdentifiers": setters.add_name("session_ids"),
        "CacheLock": set_flag("locks"),
        "CacheLockPath": set_path("lock_path"),
        "CacheLockMaxAge": setters.set_lock_max_age,
        "CacheKeyBaseURL": setters.set_base_url,
    },
    hooks=(
        Hook(QUICK_HANDLER, lazy_maker(_HOOKS, "make_quick_handler"), Order.FIRST),
        Hook(HANDLER, lazy_maker(_HOOKS, "make_handler"), Order.REALLY_FIRST),
        Hook(INSERT_ERROR_FILTER, lazy_maker(_HOOKS, "make_error_filter"), Order.MIDDLE),
        Hook(LOG_TRANSACTION, lazy_maker(_HOOKS, "make_log"), Order.REALLY_FIRST),
    ),
    providers=PROVIDERS,
)
