"""mod_authn_dbd: users and passwords in a database.

The first column of the first row is the password; the others are set in the environment as AUTHENTICATE_NAME.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.database.dbd_drivers import DatabaseError
from whimbrel.modules.database.mod_dbd import environment_name, query, set_query
from whimbrel.modules.support.auth.auth_api import Authn, AuthnProvider, BoundAuthn, cache_sink
from whimbrel.modules.support.auth.auth_files import Verifier
from whimbrel.registry.module import Module, Provider, Reads, Scope
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("authn_dbd")
Codes = tuple[str, str, str]  # no database, no query, a query that fails


@dataclass(slots=True)
class AuthnDbdDirConfig:
    """Per-directory settings: SQL statements with ``%s`` for user and realm."""

    user: str = setting("")
    realm: str = setting("")


def make_dbd(scope: Scope) -> BoundAuthn:
    """Return the provider of the database's users."""
    settings = scope.dir_config(AuthnDbdDirConfig)
    verifier = Verifier()
    store = cache_sink(scope, "dbd")

    async def password(r: Request, user: str, given: str) -> int:
        status, stored = await _lookup(
            r, settings.user, "AuthDBDUserPWQuery", ("AH01653", "AH01654", "AH01656"), user
        )
        if status != Authn.USER_FOUND:
            return status
        if store is not None:
            await store(r, user, "", stored)
        return Authn.GRANTED if await verifier.verify(r, user, given, stored) else Authn.DENIED

    async def realm_hash(r: Request, user: str, realm: str) -> tuple[int, str]:
        status = await _lookup(
            r, settings.realm, "AuthDBDUserRealmQuery", ("AH01658", "AH01659", "AH01661"), user, realm
        )
        if status[0] == Authn.USER_FOUND:
            if store is not None:
                await store(r, user, realm, status[1])
        return status

    return BoundAuthn(password, realm_hash, Reads.HEAD | Reads.UNCACHEABLE)


async def _lookup(r: Request, statement: str, name: str, codes: Codes, *values: str) -> tuple[int, str]:
    """Return AUTH_USER_FOUND and the stored hash of the user; errors are logged."""
    who = ":".join(values)
    if not statement:
        _log(r, "error", codes[1], f"No {name} has been specified")
        return Authn.GENERAL_ERROR, ""
    try:
        result = await query(r, statement, *values)
    except DatabaseError as problem:
        if problem.connected:
            _log(r, "error", codes[2], f"Query execution error looking up '{who}' in database [{problem}]")
        else:
            _log(r, "error", codes[0], f"Failed to acquire database connection to look up user '{who}'")
        return Authn.GENERAL_ERROR, ""
    if result.rows:
        for column, value in list(zip(result.names, result.rows[0], strict=True))[1:]:
            if value is not None:
                r.env[environment_name("AUTHENTICATE_", column)] = value
    stored = next((row[0] for row in result.rows if row[0] is not None), None)
    return (Authn.USER_NOT_FOUND, "") if stored is None else (Authn.USER_FOUND, stored)


MODULE = Module(
    name="authn_dbd_module",
    source="mod_authn_dbd.c",
    dir_config=AuthnDbdDirConfig,
    dir_setters={
        "AuthDBDUserPWQuery": set_query("user", "AuthDBD"),
        "AuthDBDUserRealmQuery": set_query("realm", "AuthDBD"),
    },
    providers=(Provider("authn", "dbd", AuthnProvider(make_dbd)),),
)
