"""mod_auth_digest: HTTP Digest authentication (RFC 7616 with MD5 and qop=auth; 2.2 accepts RFC 2069 as well).

Public: MODULE; files: settings, header (credentials, nonces), clients (shared memory), decide (hooks).
The recorded 2.2 was built without shared memory: no nonce counts and no one-time nonces.
Must not import: server, cli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whimbrel.modules.aaa.mod_auth_digest.decide import INFO, Digest
from whimbrel.modules.aaa.mod_auth_digest.settings import (
    DIR_SETTERS,
    SERVER_SETTERS,
    AuthDigestDirConfig,
    AuthDigestServerConfig,
    make_clients,
)
from whimbrel.modules.support.auth.auth_api import may_have_auth_type
from whimbrel.registry.module import CompiledHook, Hook, Module, Reads, Scope
from whimbrel.registry.phases import CHECK_USER_ID, FIXUPS, FORWARD_PROXY, NOTE_AUTH_FAILURE, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


def add_info(r: Request) -> HookStatus:
    """Add the Authentication-Info field to a permitted request."""
    info = r.notes.get(INFO)
    if info:
        r.headers_out.add(
            "Proxy-Authentication-Info" if r.proxy == FORWARD_PROXY else "Authentication-Info", info
        )
    return OK


def _digest(scope: Scope) -> Digest:
    """Return the one object for the hooks of one merged configuration."""
    notes: dict[Any, Any] = scope.notes  # type: ignore[attr-defined]
    digest: Digest | None = notes.get(Digest)
    if digest is None:
        digest = Digest(scope)
        notes[Digest] = digest
    return digest


def make_authentication(scope: Scope) -> CompiledHook | None:
    """Identify clients where AuthType is Digest."""
    if not may_have_auth_type(scope, "digest"):
        return None
    return CompiledHook(_digest(scope).authenticate, Reads.HEAD | Reads.FILES, is_async=True)


def make_note(scope: Scope) -> CompiledHook | None:
    """Add challenges where AuthType is Digest."""
    return CompiledHook(_digest(scope).note) if may_have_auth_type(scope, "digest") else None


MODULE = Module(
    name="auth_digest_module",
    source="mod_auth_digest.c",
    dir_config=AuthDigestDirConfig,
    server_config=AuthDigestServerConfig,
    dir_setters=DIR_SETTERS,
    server_setters=SERVER_SETTERS,
    hooks=(
        Hook(CHECK_USER_ID, make_authentication),
        Hook(FIXUPS, lambda scope: CompiledHook(add_info, Reads.NOTHING)),
        Hook(NOTE_AUTH_FAILURE, make_note),
    ),
    post_config=(make_clients,),
)
