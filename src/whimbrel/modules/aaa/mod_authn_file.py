"""mod_authn_file: users and passwords in a text file."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.support.auth.auth_api import Authn, AuthnProvider, BoundAuthn, cache_sink
from whimbrel.modules.support.auth.auth_files import (
    AuthFile,
    Passwords,
    Unreadable,
    password_file,
    set_standard_file,
)
from whimbrel.registry.module import Module, Provider, Reads, Scope
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("authn_file")


@dataclass(slots=True)
class AuthnFileDirConfig:
    """Per-directory settings."""

    file: AuthFile[Passwords] | None = setting(None)


def make_file(scope: Scope) -> BoundAuthn:
    """Return the provider of the users of AuthUserFile."""
    file = scope.dir_config(AuthnFileDirConfig).file
    store = cache_sink(scope, "file")

    async def password(r: Request, user: str, given: str) -> int:
        entries = _entries(r, file, ("AH01619", "AH01620"))
        if entries is None:
            return Authn.GENERAL_ERROR
        if user not in entries.stored:
            return Authn.USER_NOT_FOUND
        if store is not None:
            await store(r, user, "", entries.stored[user])
        return Authn.GRANTED if await entries.right(r, user, given) else Authn.DENIED

    async def realm_hash(r: Request, user: str, realm: str) -> tuple[int, str]:
        entries = _entries(r, file, ("AH01621", "AH01622"))
        if entries is None:
            return Authn.GENERAL_ERROR, ""
        found = entries.realms.get((user, realm))
        if found is None:
            return Authn.USER_NOT_FOUND, ""
        if store is not None:
            await store(r, user, realm, found)
        return Authn.USER_FOUND, found

    return BoundAuthn(password, realm_hash, Reads.FIELDS | Reads.FILES)


def _entries(r: Request, file: AuthFile[Passwords] | None, codes: tuple[str, str]) -> Passwords | None:
    """Return the file's entries; None (logged) if there is no file or it cannot be read."""
    if file is None:
        _log(r, "error", codes[0], "AuthUserFile not specified in the configuration")
        return None
    try:
        return file.content(r)
    except Unreadable as problem:
        _log(r, "error", codes[1], f"Could not open password file: {file.path}", problem.cause)
        return None


MODULE = Module(
    name="authn_file_module",
    source="mod_authn_file.c",
    dir_config=AuthnFileDirConfig,
    dir_setters={
        "AuthUserFile": set_standard_file(password_file),
    },
    providers=(Provider("authn", "file", AuthnProvider(make_file)),),
)
