"""What a worker keeps of LDAP: connections, caches, and the threads that may wait for a directory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from whimbrel.engine.runtime import Runtime
from whimbrel.modules.ldap.mod_ldap.cache import Caches
from whimbrel.modules.ldap.mod_ldap.connections import Certificates, Connections, Target
from whimbrel.modules.ldap.mod_ldap.directory import Directory
from whimbrel.modules.ldap.mod_ldap.settings import Certificate, LdapDirConfig, LdapServerConfig
from whimbrel.registry.module import Scope

T = TypeVar("T")
# Operations that wait at a time: a directory that is slow leaves threads of the worker to others.
MAX_WAITING: Final = 8
_AUTHORITIES: Final = ("CA_BASE64", "CA_DER")
_CERTIFICATES: Final = ("CERT_BASE64", "CERT_DER")
_KEYS: Final = ("KEY_BASE64", "KEY_DER")


class LdapWorker:
    """Connections of one worker."""

    def __init__(self, caches: Caches) -> None:
        self.connections = Connections()
        self._caches = caches
        self._waiting = asyncio.Semaphore(MAX_WAITING)

    def directory(self, target: Target) -> Directory:
        """Return the directory of *target*."""
        return Directory(self.connections, self._caches, target)

    async def run(self, runtime: Runtime, operation: Callable[[], T]) -> T:
        """Return *operation*, run in a thread."""
        async with self._waiting:
            result: T = await runtime.in_thread(operation)
        return result


def target_of(scope: Scope, uris: str, secure: str | None, dereference: str) -> Target:
    """Return the target of the merged settings; *secure* None: what LDAPTrustedMode says."""
    server = scope.server_config(LdapServerConfig)
    directory = scope.dir_config(LdapDirConfig)
    clients = server.clients + directory.clients
    return Target(
        uris,
        secure or server.secure,
        dereference,
        directory.referrals,
        directory.hops,
        Certificates(
            _path(server.authorities + clients, _AUTHORITIES),
            _path(clients + server.authorities, _CERTIFICATES),
            _path(clients + server.authorities, _KEYS),
        ),
        server.verify,
        server.connect_timeout,
        server.timeout,
        server.retries,
        server.retry_delay,
        server.idle_timeout,
    )


def _path(certificates: tuple[Certificate, ...], kinds: tuple[str, ...]) -> str:
    return next((path for kind, path in certificates if kind in kinds), "")
