"""mod_ldap: connections to LDAP directories and caches of their answers, for other modules; ``ldap-status``.

`python-ldap` (extra "ldap") speaks the protocol, in threads of the worker.
"""

from __future__ import annotations

from whimbrel.base.errors import StartError
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.directives.spec import Setter
from whimbrel.modules.ldap.mod_ldap import settings
from whimbrel.modules.ldap.mod_ldap.settings import LdapDirConfig, LdapServerConfig
from whimbrel.modules.support.catalogue_checks import checked
from whimbrel.modules.support.setters import ignored, set_flag, set_number, set_value, timeout
from whimbrel.registry.module import CompletedConfig, Hook, Module, lazy_maker
from whimbrel.registry.phases import HANDLER

if TYPE_CHECKING:
    from whimbrel.engine.request import RequestEngine
    from whimbrel.modules.ldap.mod_ldap.worker import LdapWorker

SOURCE: Final = "util_ldap.c"
_WORKER = "ldap"
_DIR_SETTERS: Final[dict[str, Setter]] = {
    "LDAPTrustedClientCert": settings.add_certificate("clients"),
    "LDAPReferrals": set_value("referrals", lambda word: {"on": True, "off": False}.get(lower(word))),
    "LDAPReferralHopLimit": set_number("hops"),
}
_SERVER_SETTERS: Final[dict[str, Setter]] = {
    "LDAPSharedCacheSize": set_number("cache_size"),
    "LDAPSharedCacheFile": ignored,
    "LDAPCacheEntries": settings.set_entries("search_entries"),
    "LDAPCacheTTL": set_number("search_ttl"),
    "LDAPOpCacheEntries": settings.set_entries("operation_entries"),
    "LDAPOpCacheTTL": set_number("operation_ttl"),
    "LDAPTrustedGlobalCert": settings.add_certificate("authorities"),
    "LDAPTrustedMode": set_value("secure", lambda word: settings.SECURE[lower(word)]),
    "LDAPVerifyServerCert": set_flag("verify"),
    "LDAPConnectionTimeout": set_number("connect_timeout"),
    "LDAPLibraryDebug": ignored,
    "LDAPTimeout": set_number("timeout"),
    "LDAPConnectionPoolTTL": settings.set_idle_timeout,
    "LDAPRetries": settings.set_entries("retries"),
    "LDAPRetryDelay": set_value("retry_delay", lambda word: (timeout(word) or 0) / 1_000_000),
}


def make_memory(finished: CompletedConfig) -> None:
    """Make the memory of the caches before the workers exist; a restart empties them, as in httpd."""
    main = next(iter(finished.servers())).config(LdapServerConfig)
    if main.cache_size > 0:
        from whimbrel.modules.ldap.mod_ldap.cache import SharedMemory

        try:
            main.memory = SharedMemory(main.cache_size)
        except (OSError, OverflowError, MemoryError):
            raise StartError("LDAP cache: could not create shared memory segment") from None


def worker_of(engine: RequestEngine) -> LdapWorker:
    """Return the connections of this worker."""
    found: LdapWorker | None = engine.worker_state.get(_WORKER)
    if found is None:
        from whimbrel.modules.ldap.mod_ldap.cache import caches_of
        from whimbrel.modules.ldap.mod_ldap.worker import LdapWorker

        found = LdapWorker(caches_of(engine))
        engine.worker_state[_WORKER] = found
    return found


def is_installed() -> bool:
    """Return True if python-ldap is there."""
    from importlib.util import find_spec

    return find_spec("ldap") is not None


async def close(engine: RequestEngine) -> None:
    """Close the connections of a worker that ends."""
    found = engine.worker_state.pop(_WORKER, None)
    if found is not None:
        found.connections.close()


MODULE = Module(
    name="ldap_module",
    source=SOURCE,
    dir_config=LdapDirConfig,
    server_config=LdapServerConfig,
    dir_setters=checked(SOURCE, _DIR_SETTERS),
    server_setters=checked(SOURCE, _SERVER_SETTERS),
    hooks=(Hook(HANDLER, lazy_maker("whimbrel.modules.ldap.mod_ldap.status", "make_handler")),),
    post_config=(make_memory,),
    worker_ends=(close,),
)
