"""The directives of mod_auth_digest, with their validation."""

from __future__ import annotations

from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import strip, strtol, upper
from whimbrel.config.configuration import Configuration
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.aaa.mod_auth_digest.clients import Clients
from whimbrel.modules.aaa.mod_authn_core import find_provider
from whimbrel.modules.support.auth.auth_api import AuthnProvider
from whimbrel.modules.support.setters import add_text, refused, set_flag
from whimbrel.registry.settings import UNSET, Unmerged, setting

_MIN_SHMEM: Final = {True: 168, False: 88}  # bytes of one client, in 2.2 and in 2.4
_UNITS: Final = {"": 1, "B": 1, "K": 1024, "M": 1024 * 1024}


@dataclass(slots=True)
class AuthDigestDirConfig(Unmerged):
    """Per-directory settings, not merged; *lifetime* in seconds: 0 one-time nonces, negative no end."""

    providers: list[AuthnProvider] = setting(make=list)
    qop: list[str] = setting(make=list)
    lifetime: int = setting(300)
    count: bool = setting(False)
    algorithm: str = setting("MD5")
    domain: list[str] = setting(make=list)


@dataclass(slots=True)
class AuthDigestServerConfig:
    """The main server's settings; *clients* is set once the configuration is complete."""

    memory: int = setting(1000)
    clients: Clients | None = setting(None)


def add_provider(cmd: Command, record: AuthDigestDirConfig, words: list[str]) -> None:
    """AuthDigestProvider: a provider that stores hashes of user, realm and password."""
    provider = find_provider(cmd, words[0])
    if not provider.realms:
        raise ConfigError(f"The '{words[0]}' Authn provider doesn't support Digest Authentication")
    record.providers = [*([] if record.providers is UNSET else record.providers), provider]


def add_qop(cmd: Command, record: AuthDigestDirConfig, words: list[str]) -> None:
    """AuthDigestQop."""
    word = words[0].lower()
    if not cmd.dialect.access_in_core:
        if word != "auth":
            raise ConfigError("AuthDigestQop is deprecated: only 'auth' is supported")
        return
    if word == "auth-int":
        cmd.warn(
            "Digest: WARNING: qop `auth-int' currently only works correctly for responses with no entity"
        )
    elif word not in ("auth", "none"):
        raise ConfigError(f"Unrecognized qop: {words[0]}")
    record.qop = [*([] if record.qop is UNSET else record.qop), word]


def set_lifetime(_cmd: Command, record: AuthDigestDirConfig, words: list[str]) -> None:
    """AuthDigestNonceLifetime: a whole number."""
    value, rest = strtol(words[0])
    if strip(rest):
        raise ConfigError(f"Invalid time in AuthDigestNonceLifetime: {words[0]}")
    record.lifetime = value


def set_count(cmd: Command, record: AuthDigestDirConfig, words: list[str]) -> None:
    """AuthDigestNcCheck."""
    set_flag("count")(cmd, record, words)
    if cmd.dialect.access_in_core and record.count:
        cmd.warn(
            "Digest: WARNING: nonce-count checking is not supported on platforms without shared-memory "
            "support - disabling check"
        )
        record.count = False


def set_algorithm(cmd: Command, record: AuthDigestDirConfig, words: list[str]) -> None:
    """AuthDigestAlgorithm: MD5."""
    word = words[0].lower()
    if word == "md5":
        record.algorithm = words[0]
        return
    if not cmd.dialect.access_in_core:
        raise ConfigError(f"Unsupported algorithm in AuthDigestAlgorithm: {words[0]}")
    if word != "md5-sess":
        raise ConfigError(f"Invalid algorithm in AuthDigestAlgorithm: {words[0]}")
    cmd.warn(
        "Digest: WARNING: algorithm `MD5-sess' is not supported on platforms without shared-memory support "
        "- reverting to MD5"
    )
    record.algorithm = "MD5"


def set_memory(cmd: Command, record: AuthDigestServerConfig, words: list[str]) -> None:
    """AuthDigestShmemSize: bytes, or a number with suffix K or M."""
    value, unit = strtol(words[0])
    scale = _UNITS.get(upper(unit[:1]), 0)
    if not scale:
        raise ConfigError(f"Invalid size in AuthDigestShmemSize: {words[0]}")
    least = _MIN_SHMEM[cmd.dialect.access_in_core]
    if value * scale < least:
        raise ConfigError(f"size in AuthDigestShmemSize too small: {value * scale} < {least}")
    record.memory = value * scale


def make_clients(finished: Configuration) -> None:
    """Allocate the shared memory, before the workers are forked."""
    servers = list(finished.servers())
    clients = Clients(servers[0].config(AuthDigestServerConfig).memory)
    for server in servers:
        server.config(AuthDigestServerConfig).clients = clients


DIR_SETTERS: Final[dict[str, Setter]] = {
    "AuthDigestProvider": add_provider,
    "AuthDigestQop": add_qop,
    "AuthDigestNonceLifetime": set_lifetime,
    "AuthDigestNonceFormat": refused("AuthDigestNonceFormat is not implemented (yet)"),
    "AuthDigestNcCheck": set_count,
    "AuthDigestAlgorithm": set_algorithm,
    "AuthDigestDomain": add_text("domain"),
}
SERVER_SETTERS: Final[dict[str, Setter]] = {
    "AuthDigestShmemSize": set_memory,
}
