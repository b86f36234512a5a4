"""mod_authn_dbm: users and passwords in a DBM file.

The key is the user (for Digest ``user:realm``), the value the password and, after a colon, arbitrary text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.support.auth.auth_api import Authn, AuthnProvider, BoundAuthn, cache_sink
from whimbrel.modules.support.auth.auth_files import Unreadable
from whimbrel.modules.support.dbm.open import DbmFile
from whimbrel.modules.support.setters import set_path, set_text
from whimbrel.registry.module import Module, Provider, Scope
from whimbrel.registry.settings import Unmerged, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class AuthnDbmDirConfig(Unmerged):
    """Per-directory settings, which httpd does not merge."""

    path: str = setting("")
    kind: str = setting("default")


def make_dbm(scope: Scope) -> BoundAuthn:
    """Return the provider of the users of AuthDBMUserFile."""
    settings = scope.dir_config(AuthnDbmDirConfig)
    file = DbmFile(settings.path, settings.kind)
    store = cache_sink(scope, "dbm")

    async def password(r: Request, user: str, given: str) -> int:
        entries = _entries(r, file)
        if entries is None:
            return Authn.GENERAL_ERROR
        stored = entries.get(user)
        if stored is None:
            return Authn.USER_NOT_FOUND
        stored = stored.partition(":")[0]
        if store is not None:
            await store(r, user, "", stored)
        return Authn.GRANTED if await file.verifier.verify(r, user, given, stored) else Authn.DENIED

    async def realm_hash(r: Request, user: str, realm: str) -> tuple[int, str]:
        entries = _entries(r, file)
        if entries is None:
            return Authn.GENERAL_ERROR, ""
        stored = entries.get(f"{user}:{realm}")
        return (Authn.USER_NOT_FOUND, "") if stored is None else (Authn.USER_FOUND, stored.partition(":")[0])

    return BoundAuthn(password, realm_hash)


def _entries(r: Request, file: DbmFile) -> dict[str, str] | None:
    """Return the file's entries; None (logged) if it cannot be read."""
    try:
        return file.content(r)
    except Unreadable as problem:
        old = not r.plan.dialect.messages_24
        text = f"could not open dbm (type {file.kind}) {'auth ' if old else ''}file: {file.path or '(null)'}"
        r.log("error", text, code="AH10285", module="authn_dbm", cause=problem.cause)
        return None


MODULE = Module(
    name="authn_dbm_module",
    source="mod_authn_dbm.c",
    dir_config=AuthnDbmDirConfig,
    dir_setters={
        "AuthDBMUserFile": set_path("path"),
        "AuthDBMType": set_text("kind"),
    },
    providers=(Provider("authn", "dbm", AuthnProvider(make_dbm)),),
)
