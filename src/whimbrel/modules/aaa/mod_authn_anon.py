"""mod_authn_anon: anonymous users, who give one of a few names and any password."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.modules.support.auth.auth_api import Authn, AuthnProvider, BoundAuthn
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import Module, Provider, Reads, Scope
from whimbrel.registry.settings import UNSET, Unmerged, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class AnonDirConfig(Unmerged):
    """Per-directory settings, which httpd does not merge: one that is set resets the others."""

    users: frozenset[str] = setting(frozenset())  # in lower case
    anyone: bool = setting(False)  # Anonymous *
    no_user: bool = setting(False)
    email: bool = setting(True)
    log: bool = setting(True)
    verify: bool = setting(False)


def add_user(_cmd: Command, record: AnonDirConfig, words: list[str]) -> None:
    """Anonymous NAME or ``*``."""
    name = words[0]
    if not name:
        raise ConfigError("Anonymous string cannot be empty, use Anonymous_NoUserId")
    if name == "*":
        record.anyone = True
    elif record.anyone is not True:
        record.users = frozenset({name.lower()}) if record.users is UNSET else record.users | {name.lower()}


def make_anon(scope: Scope) -> BoundAuthn:
    """Return the provider of the users of Anonymous; the password may have to be an email address."""
    settings = scope.dir_config(AnonDirConfig)

    async def password(r: Request, user: str, given: str) -> int:
        if not _known(settings, user):
            return Authn.USER_NOT_FOUND
        if (settings.email and not given) or (settings.verify and not _is_address(given)):
            return Authn.DENIED
        if settings.log and r.initial:
            r.log("info", f"Anonymous: Passwd <{given}> Accepted", code="AH01672", module="authn_anon")
        return Authn.GRANTED

    return BoundAuthn(password, None, Reads.HEAD)


def _known(settings: AnonDirConfig, user: str) -> bool:
    if not settings.users and not settings.anyone:
        return False
    return settings.no_user if not user else settings.anyone or user.lower() in settings.users


def _is_address(given: str) -> bool:
    return "@" in given and "." in given


MODULE = Module(
    name="authn_anon_module",
    source="mod_authn_anon.c",
    dir_config=AnonDirConfig,
    dir_setters={
        "Anonymous": add_user,
        "Anonymous_MustGiveEmail": set_flag("email"),
        "Anonymous_NoUserId": set_flag("no_user"),
        "Anonymous_VerifyEmail": set_flag("verify"),
        "Anonymous_LogEmail": set_flag("log"),
    },
    providers=(Provider("authn", "anon", AuthnProvider(make_anon, realms=False)),),
)
