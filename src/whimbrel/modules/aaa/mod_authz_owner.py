"""mod_authz_owner: Require file-owner, and the file's group for Require file-group."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whimbrel.base.accounts import group_numbered, user_numbered
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.modules.core.access_22 import Requirement, applying, requirements
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Provider, Reads, Scope
from whimbrel.registry.phases import AUTH_CHECKER, DECLINED, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

GROUP_NOTE = "authz_group"
"""2.2: key of the request note with the file's group, for the modules of group files."""


@dataclass(slots=True)
class AuthzOwnerDirConfig:
    """Per-directory settings (2.2)."""

    authoritative: bool = setting(True)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Failure to find an owner or group: text, AH codes for owner and group, errno of stat or 0."""

    text: str
    codes: tuple[str, str]
    errno: int = 0


def _owner_and_group(r: Request, group: bool) -> str | _Problem:
    """Return the name of the owner of the request's file, or of its group."""
    if r.filename is None:
        return _Problem("no filename available", ("AH01633", "AH01638"))
    info = r.deps.stat(r.filename)
    if info is None:
        return _Problem(f"could not stat file {r.filename}", ("AH01634", "AH01639"), r.deps.errno or 2)
    r.set_uncacheable()  # the account database can change undetected
    try:
        return group_numbered(info.st_gid).gr_name if group else user_numbered(info.st_uid).pw_name
    except KeyError:
        return _Problem(
            "could not get name of file group" if group else "could not get name of file owner",
            ("AH01636", "AH01641"),
        )


def _log(r: Request, reason: str, code: str, errno: int = 0) -> None:
    cause = f"({errno}){os.strerror(errno)}" if errno else ""
    r.log(
        "error",
        f"Authorization of user {r.user} to access {r.uri} failed, reason: {reason}",
        code=code,
        module="authz_owner",
        cause=cause,
    )


def make_file_owner(_scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
    """Require file-owner: grant the user whose name owns the file."""

    def check(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        owner = _owner_and_group(r, False)
        if isinstance(owner, _Problem):
            _log(r, owner.text, owner.codes[0], owner.errno)
            return Authz.DENIED
        if owner != r.user:
            _log(r, f"file owner {owner} does not match.", "AH01637")
            return Authz.DENIED
        return Authz.GRANTED

    return AuthzCheck(check, Reads.HEAD | Reads.FILES)


def file_group(r: Request) -> str | None:
    """Return the group name of the request's file, for mod_authz_groupfile and others; None is logged."""
    group = _owner_and_group(r, True)
    if isinstance(group, _Problem):
        _log(r, group.text, group.codes[1], group.errno)
        return None
    return group


# 2.2 ----------------------------------------------------------------------------------------------
def make_check22(scope: Scope) -> CompiledHook | None:
    """2.2: decide file-owner, and note the group for file-group."""
    if not scope.dialect.authoritative_chain:
        return None
    lines = [line for line in requirements(scope) if line.name.lower() in ("file-owner", "file-group")]
    if not lines:
        return None
    authoritative = scope.dir_config(AuthzOwnerDirConfig).authoritative

    def check(r: Request) -> HookStatus:
        reason: tuple[str, int] | None = None
        # a file-group line came before every file-owner line: if the group is found, the modules of groups
        # decide
        passed = False
        for line in applying(lines, r):
            if line.name.lower() == "file-owner":
                reason = _owner_matches(r)
                if reason is None:
                    return OK
            elif line.name.lower() == "file-group":
                passed = passed or reason is None
                reason = _note_group(r, line) or reason
        if reason is None or not authoritative or (passed and GROUP_NOTE in r.notes):
            return DECLINED
        _log(r, reason[0], "", reason[1])
        return 401

    return CompiledHook(check, Reads.HEAD | Reads.FILES)


def _owner_matches(r: Request) -> tuple[str, int] | None:
    """Return None if the user owns the file, else the reason."""
    owner = _owner_and_group(r, False)
    if isinstance(owner, _Problem):
        return owner.text, owner.errno
    return None if owner == r.user else (f"file owner {owner} does not match.", 0)


def _note_group(r: Request, _line: Requirement) -> tuple[str, int] | None:
    group = _owner_and_group(r, True)
    if isinstance(group, _Problem):
        return group.text, group.errno
    r.notes[GROUP_NOTE] = group
    return None


MODULE = Module(
    name="authz_owner_module",
    source="mod_authz_owner.c",
    dir_config=AuthzOwnerDirConfig,
    dir_setters={
        "AuthzOwnerAuthoritative": set_flag("authoritative"),
    },
    hooks=(Hook(AUTH_CHECKER, make_check22),),
    providers=(
        Provider("authz", "file-owner", AuthzProvider(make_file_owner), Versions.V24),
        Provider("access", "file_group", file_group, Versions.V24),
    ),
)
