"""mod_authz_groupfile: Require group and Require file-group by a text file of groups.

Group names are case-insensitive, user names are case-sensitive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.engine.expressions import StringExpression
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.aaa.mod_authz_core.providers import expanded, require_text, require_words
from whimbrel.modules.aaa.mod_authz_owner import GROUP_NOTE
from whimbrel.modules.core.access_22 import applying, requirements
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider
from whimbrel.modules.support.auth.auth_files import (
    AuthFile,
    Groups,
    Unreadable,
    group_file,
    set_standard_file,
)
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Provider, Reads, Scope
from whimbrel.registry.phases import AUTH_CHECKER, DECLINED, OK, HookStatus
from whimbrel.registry.settings import Unmerged, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("authz_groupfile")

_NONE: frozenset[str] = frozenset()
_READS = Reads.HEAD | Reads.FILES


@dataclass(slots=True)
class AuthzGroupFileDirConfig(Unmerged):
    """Per-directory settings, which httpd does not merge."""

    file: AuthFile[Groups] | None = setting(None)
    authoritative: bool = setting(True)  # 2.2


def _groups_of_user(
    r: Request, file: AuthFile[Groups] | None, codes: tuple[str, str]
) -> frozenset[str] | None:
    """Return the user's groups in lower case; None (logged) if there is no file or it cannot be read."""
    if file is None:
        _log(r, "error", codes[0], "No group file was specified in the configuration")
        return None
    try:
        return file.content(r).get(r.user or "", _NONE)
    except Unreadable as problem:
        _log(r, "error", codes[1], f"Could not open group file: {file.path}", problem.cause)
        return None


def _in_no_group(
    r: Request, file: AuthFile[Groups] | None, groups: frozenset[str] | None, code: str, level: str
) -> int:
    """Refuse a user whose *groups* do not match; an unreadable file was logged before."""
    return (
        Authz.DENIED
        if file is None or groups is None
        else _denied(r, f"user doesn't appear in group file ({file.path}).", code, level)
    )


def _denied(r: Request, reason: str, code: str, level: str = "debug") -> int:
    _log(r, level, code, f"Authorization of user {r.user} to access {r.uri} failed, reason: {reason}")
    return Authz.DENIED


def make_group(scope: Scope, _args: str, names: StringExpression) -> AuthzCheck:
    """Require group: grant users of one of the groups."""
    file = scope.dir_config(AuthzGroupFileDirConfig).file
    constant = names.fixed
    fixed = None if constant is None else frozenset(w.lower() for w in require_words(constant))

    def check(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        groups = _groups_of_user(r, file, ("AH01664", "AH01665"))
        if not groups:
            return _in_no_group(r, file, groups, "AH01666", "info")
        wanted = fixed
        if wanted is None:
            text = expanded(r, names, "authz_groupfile", "group", "AH02592")
            if text is None:
                return Authz.DENIED
            wanted = frozenset(w.lower() for w in require_words(text))
        return (
            Authz.GRANTED
            if groups & wanted
            else _denied(r, "user is not part of the 'require'ed group(s).", "AH01667")
        )

    return AuthzCheck(check, _READS)


def make_file_group(scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
    """Require file-group: grant users of the group that owns the file, as mod_authz_owner reports it."""
    file = scope.dir_config(AuthzGroupFileDirConfig).file
    group_of = scope.provider("access", "file_group")

    def check(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        groups = _groups_of_user(r, file, ("AH01668", "AH01669"))
        if not groups:
            return _in_no_group(r, file, groups, "AH01670", "error")
        group = group_of(r) if group_of is not None else None
        if group is None:
            return Authz.DENIED
        return (
            Authz.GRANTED
            if group.lower() in groups
            else _denied(r, "user is not part of the 'require'ed file group.", "AH01671")
        )

    return AuthzCheck(check, _READS)


# 2.2 ----------------------------------------------------------------------------------------------
def make_check22(scope: Scope) -> CompiledHook | None:
    """2.2: decide Require group and file-group if a group file is set."""
    settings = scope.dir_config(AuthzGroupFileDirConfig)
    file = settings.file
    if not scope.dialect.authoritative_chain or file is None:
        return None
    words = ("group", "file-group") if scope.dialect.group_by_modules else ("file-group",)
    lines = [line for line in requirements(scope) if line.name.lower() in words]
    if not lines:
        return None

    def check(r: Request) -> HookStatus:
        applicable = list(applying(lines, r))
        if not applicable:
            return DECLINED
        try:
            groups = file.content(r).get(r.user or "", _NONE)
        except Unreadable as problem:
            _log(r, "error", "", f"Could not open group file: {file.path}", problem.cause)
            return 500
        reason = f"user doesn't appear in group file ({file.path})."
        if groups:
            found = _member(r, applicable, groups, settings.authoritative)
            if found is None:
                return OK
            reason = found
        if not settings.authoritative:
            return DECLINED
        _log(r, "error", "", f"Authorization of user {r.user} to access {r.uri} failed, reason: {reason}")
        return 401

    return CompiledHook(check, _READS)


def _member(r: Request, lines: list[Any], groups: frozenset[str], authoritative: bool) -> str | None:
    """Return None if the user is in a group of one of the lines, else the reason for the log."""
    for line in lines:
        if line.name.lower() == "group":
            if any(word.lower() in groups for word in line.words):
                return None
            continue
        group = r.notes.get(GROUP_NOTE)
        if group is None:
            continue
        if group.lower() in groups:
            return None
        if authoritative:
            return f"file group '{group}' does not match."
    return "user is not part of the 'require'ed group(s)."


MODULE = Module(
    name="authz_groupfile_module",
    source="mod_authz_groupfile.c",
    dir_config=AuthzGroupFileDirConfig,
    dir_setters={
        "AuthGroupFile": set_standard_file(group_file),
        "AuthzGroupFileAuthoritative": set_flag("authoritative"),
    },
    hooks=(Hook(AUTH_CHECKER, make_check22, after=("mod_authz_owner.c",)),),
    providers=(
        Provider("authz", "group", AuthzProvider(make_group, require_text), Versions.V24),
        Provider("authz", "file-group", AuthzProvider(make_file_group), Versions.V24),
    ),
)
