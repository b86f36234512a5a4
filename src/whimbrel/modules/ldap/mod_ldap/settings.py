"""Settings of mod_ldap, and what follows from them for connections and caches.

The cache and most limits are the main server's: virtual hosts cannot change them.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, upper
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import set_value, timeout
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.modules.ldap.mod_ldap.cache import SharedMemory

Certificate = tuple[str, str]  # type in upper case, path


@dataclass(slots=True)
class LdapServerConfig:
    """Per-server settings; times in seconds, a *timeout* of 0 is no limit.

    *memory*, of the main server, is that of the caches, set once the configuration is complete.
    """

    cache_size: int = setting(500_000)
    memory: SharedMemory | None = setting(None)
    search_ttl: int = setting(600)
    search_entries: int = setting(1024)
    operation_ttl: int = setting(600)
    operation_entries: int = setting(1024)
    authorities: tuple[Certificate, ...] = setting(())
    clients: tuple[Certificate, ...] = setting(())  # 2.2
    secure: str = setting("none")
    verify: bool = setting(True)
    connect_timeout: int = setting(10)
    timeout: int = setting(60)
    idle_timeout: int = setting(-1)
    retries: int = setting(3)
    retry_delay: float = setting(0.0)


@dataclass(slots=True)
class LdapDirConfig:
    """Per-directory settings; *referrals*: None for the library's default, *hops*: 0 for the library's."""

    clients: tuple[Certificate, ...] = setting(())
    referrals: bool | None = setting(True)
    hops: int = setting(0)


SECURE = {"none": "none", "ssl": "ssl", "tls": "starttls", "starttls": "starttls"}


def set_entries(field: str, low: int = 0) -> Setter:
    """Return the setter of a number that is at least *low*."""
    return set_value(field, lambda word: max(low, atoi(word)))


def set_idle_timeout(_cmd: Command, record: LdapServerConfig, words: list[str]) -> None:
    """LDAPConnectionPoolTTL: below zero for no limit."""
    text = words[0]
    microseconds = None if text.startswith("-") else timeout(text)
    record.idle_timeout = -1 if microseconds is None else microseconds // 1_000_000


def add_certificate(field: str) -> Setter:
    """Return the setter that adds TYPE PATH [PASSWORD] to a record's *field*."""

    def apply(cmd: Command, record: LdapServerConfig | LdapDirConfig, words: list[str]) -> None:
        kind = upper(words[0])
        path = words[1] if kind == "CERT_NICKNAME" else cmd.server_path(words[1])
        known = getattr(record, field)
        setattr(record, field, (*(() if known is UNSET else known), (kind, path)))

    return apply
