"""mod_authz_dbm: Require dbm-group and dbm-file-group (2.4), Require group (2.2) by a DBM file of groups.

The key is ``user:realm`` or the user. The value is the comma-separated groups, or a whole entry of a file
with passwords: ``password:groups[:anything]``. Names are case-sensitive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import split
from whimbrel.directives.spec import Versions
from whimbrel.engine.expressions import StringExpression
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.engine.request import Request
from whimbrel.modules.aaa.mod_authz_core.providers import expanded, require_text
from whimbrel.modules.aaa.mod_authz_owner import GROUP_NOTE
from whimbrel.modules.core.access_22 import applying, requirements
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider, auth_name
from whimbrel.modules.support.auth.auth_files import Unreadable
from whimbrel.modules.support.dbm.open import DbmFile
from whimbrel.modules.support.setters import set_flag, set_path, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Provider, Reads, Scope
from whimbrel.registry.phases import AUTH_CHECKER, DECLINED, OK, HookStatus
from whimbrel.registry.settings import Unmerged, setting

_MODULE = "authz_dbm"
_log = module_log(_MODULE)
_READS = Reads.HEAD | Reads.FILES
_NOT_IN_FILE = "user doesn't appear in DBM group file ({})."
_NOT_MEMBER = "user is not part of the 'require'ed group(s)."
Realm = Callable[[Request], str | None]


@dataclass(slots=True)
class AuthzDbmDirConfig(Unmerged):
    """Per-directory settings, which httpd does not merge."""

    path: str = setting("")
    kind: str = setting("default")
    authoritative: bool = setting(True)  # 2.2


def groups_of(value: str) -> frozenset[str]:
    """Return the groups in a file's value."""
    _, colon, rest = value.partition(":")
    return frozenset((rest.partition(":")[0] if colon else value).split(","))


def _groups(r: Request, file: DbmFile, realm: Realm) -> frozenset[str] | None:
    """Return the user's groups; None if the file does not have the user.  Raises Unreadable."""
    entries = file.content(r)
    user = r.user or ""
    value = entries.get(f"{user}:{realm(r) or ''}")
    if value is None:
        value = entries.get(user)
    return None if value is None else groups_of(value)


def _unreadable(r: Request, file: DbmFile, problem: Unreadable) -> None:
    text = f"could not open dbm (type {file.kind}) group access file: {file.path or '(null)'}"
    _log(r, "error", "AH01799", text, problem.cause)


def _refused(r: Request, reason: str, code: str) -> None:
    _log(r, "error", code, f"Authorization of user {r.user} to access {r.uri} failed, reason: {reason}")


def _known(r: Request, file: DbmFile, realm: Realm, codes: tuple[str, str]) -> frozenset[str] | int:
    """Return the user's groups, or the logged result; *codes*: no file set, no such user."""
    if not file.path:
        _log(r, "error", codes[0], "No group file was specified in the configuration")
        return Authz.DENIED
    try:
        groups = _groups(r, file, realm)
    except Unreadable as problem:
        _unreadable(r, file, problem)
        return Authz.GENERAL_ERROR
    if groups is None:
        _refused(r, _NOT_IN_FILE.format(file.path), codes[1])
        return Authz.DENIED
    return groups


def make_group(scope: Scope, _args: str, names: StringExpression) -> AuthzCheck:
    """Require dbm-group: grant users of one of the groups."""
    settings = scope.dir_config(AuthzDbmDirConfig)
    realm = auth_name(scope)
    file = DbmFile(settings.path, settings.kind)

    def check(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        groups = _known(r, file, realm, ("AH01798", "AH01800"))
        if isinstance(groups, int):
            return groups
        text = expanded(r, names, _MODULE, "dbm-group", "AH02591")
        if text is None:
            return Authz.DENIED
        if groups.intersection(split(text)):
            return Authz.GRANTED
        _refused(r, _NOT_MEMBER, "AH01801")
        return Authz.DENIED

    return AuthzCheck(check, _READS | names.reads)


def make_file_group(scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
    """Require dbm-file-group: grant users of the group that owns the file."""
    settings = scope.dir_config(AuthzDbmDirConfig)
    realm = auth_name(scope)
    file = DbmFile(settings.path, settings.kind)
    group_of = scope.provider("access", "file_group")

    def check(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        groups = _known(r, file, realm, ("AH01802", "AH01804"))
        if isinstance(groups, int):
            return groups
        group = group_of(r) if group_of is not None else None
        if group is not None and group in groups:
            return Authz.GRANTED
        _refused(r, _NOT_MEMBER, "AH01805")
        return Authz.DENIED

    return AuthzCheck(check, _READS)


# 2.2 ----------------------------------------------------------------------------------------------
def make_check22(scope: Scope) -> CompiledHook | None:
    """2.2: decide Require group and file-group if a group file is set."""
    settings = scope.dir_config(AuthzDbmDirConfig)
    realm = auth_name(scope)
    if not scope.dialect.authoritative_chain or not settings.path:
        return None
    file = DbmFile(settings.path, settings.kind)
    authoritative = settings.authoritative
    words = ("group", "file-group") if scope.dialect.group_by_modules else ("file-group",)
    lines = [line for line in requirements(scope) if line.name.lower() in words]
    if not lines:
        return None

    def check(r: Request) -> HookStatus:
        applicable = [
            line
            for line in applying(lines, r)
            if line.name.lower() == "group" or r.notes.get(GROUP_NOTE) is not None
        ]
        if not applicable:
            return DECLINED
        try:
            groups = _groups(r, file, realm)
        except Unreadable as problem:
            _unreadable(r, file, problem)
            return 500
        reason = (
            _NOT_IN_FILE.format(file.path)
            if groups is None
            else _member(r, applicable, groups, authoritative)
        )
        if not reason:
            return OK
        if not authoritative:
            return DECLINED
        _refused(r, reason, "")
        return 401

    return CompiledHook(check, _READS)


def _member(r: Request, lines: list[Any], groups: frozenset[str], authoritative: bool) -> str:
    """Return "" if the user is in a group of one of the lines, else the reason for the log."""
    for line in lines:
        if line.name.lower() == "group":
            if groups.intersection(line.words):
                return ""
            continue
        group = r.notes.get(GROUP_NOTE)
        if group in groups:
            return ""
        if authoritative:
            return f"file group '{group}' does not match."
    return _NOT_MEMBER


MODULE = Module(
    name="authz_dbm_module",
    source="mod_authz_dbm.c",
    dir_config=AuthzDbmDirConfig,
    dir_setters={
        "AuthDBMGroupFile": set_path("path"),
        "AuthzDBMType": set_text("kind"),
        "AuthzDBMAuthoritative": set_flag("authoritative"),
    },
    hooks=(Hook(AUTH_CHECKER, make_check22, after=("mod_authz_owner.c",)),),
    providers=(
        Provider("authz", "dbm-group", AuthzProvider(make_group, require_text), Versions.V24),
        Provider("authz", "dbm-file-group", AuthzProvider(make_file_group), Versions.V24),
    ),
)
