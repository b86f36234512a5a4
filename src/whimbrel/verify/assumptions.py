"""Modules for engines of probes: the password of a probe is right or wrong as the probe says.

Stored passwords are hashes, so no probe can contain a right one. The providers of these modules ask the real
ones whether they know the user, and replace their result about the password. Files that lack the assumed user
of a probe are read as if they had it. A configuration that is loaded without them is not affected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import md5
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.engine.request import Request
from whimbrel.modules import ALL
from whimbrel.modules.aaa.mod_authz_groupfile import AuthzGroupFileDirConfig
from whimbrel.modules.support.auth.auth_api import Authn, AuthnProvider, BoundAuthn
from whimbrel.modules.support.auth.auth_files import AuthFile, Groups
from whimbrel.registry.module import Module, Provider, Scope
from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD, ProbeUser

USER_KEY: Final = "user of the probe"
"""The key of the present `ProbeUser` in `Engine.worker_state`."""
OF_FILES: Final = ("anon", "dbm", "file", "socache")
"""Providers that ask nothing outside of the files of the server."""


def user_of(r: Request) -> ProbeUser | None:
    """Return the user of the probe that *r* answers."""
    return r.engine.worker_state.get(USER_KEY)


class ProbeModules(Mapping[str, Module]):
    """All modules, with the providers of this file in the place of those of users and groups."""

    def __getitem__(self, name: str) -> Module:
        module = ALL[name]
        if any(provider.group == "authn" for provider in module.providers):
            return replace(module, providers=tuple(map(_assuming, module.providers)))
        if name == "mod_authz_groupfile":
            setters = dict(module.dir_setters)
            setters["AuthGroupFile"] = _assuming_groups(setters["AuthGroupFile"])
            return replace(module, dir_setters=setters)
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(ALL)

    def __len__(self) -> int:
        return len(ALL)


def _assuming(provider: Provider) -> Provider:
    if provider.group != "authn" or not isinstance(provider.value, AuthnProvider):
        return provider
    real = provider.value.make

    def make(scope: Scope) -> BoundAuthn:
        return _bound(real(scope), has_all=provider.name in OF_FILES)

    return replace(provider, value=replace(provider.value, make=make))


def _bound(real: BoundAuthn, *, has_all: bool) -> BoundAuthn:
    """Return the provider for probes; *has_all*: users whom it does not find are in no file."""

    async def password(r: Request, user: str, given: str) -> int:
        found = await real.password(r, user, given)
        probe_user = user_of(r)
        if found == Authn.USER_NOT_FOUND and _is_assumed(probe_user, user, has_all=has_all):
            found = Authn.DENIED
        if found in (Authn.DENIED, Authn.GRANTED) and given in (RIGHT_PASSWORD, WRONG_PASSWORD):
            return Authn.GRANTED if given == RIGHT_PASSWORD else Authn.DENIED
        return found

    if real.realm_hash is None:
        return replace(real, password=password)
    real_hash = real.realm_hash

    async def realm_hash(r: Request, user: str, realm: str) -> tuple[int, str]:
        found, stored = await real_hash(r, user, realm)
        if found == Authn.USER_NOT_FOUND and _is_assumed(user_of(r), user, has_all=has_all):
            found = Authn.USER_FOUND
        if found != Authn.USER_FOUND:
            return found, stored
        return found, md5(to_bytes(f"{user}:{realm}:{RIGHT_PASSWORD}"), usedforsecurity=False).hexdigest()

    return replace(real, password=password, realm_hash=realm_hash)


def _is_assumed(user: ProbeUser | None, name: str, *, has_all: bool) -> bool:
    if user is None or (has_all and user.has_file_users):
        return False
    return user.is_assumed and user.name == name


def _assuming_groups(set_file: Setter) -> Setter:
    def set_assumed(cmd: Command, record: AuthzGroupFileDirConfig, words: list[str]) -> None:
        set_file(cmd, record, words)
        if record.file is not None:
            record.file = AssumedGroups(record.file)

    return set_assumed


class AssumedGroups(AuthFile[Groups]):
    """A group file to which the assumed user of a probe is added."""

    def __init__(self, file: AuthFile[Groups]) -> None:
        super().__init__(file.path, file._parse)

    def content(self, r: Request) -> Groups:
        """Return the content; raises Unreadable."""
        groups = super().content(r)
        user = user_of(r)
        if user is None or not user.is_assumed:
            return groups
        return _GroupsOfOne(user, groups)


class _GroupsOfOne(Groups):
    """The groups of a file, with those of one user replaced, or extended."""

    def __init__(self, user: ProbeUser, others: Groups) -> None:
        super().__init__("", continued=True)
        self._user = user
        self._others = others

    def get(self, user: str, default: frozenset[str] = frozenset()) -> frozenset[str]:
        """Return the groups of *user* in lower case."""
        if user == self._user.name and not self._user.has_file_groups:
            return frozenset(group.lower() for group in self._user.groups) or default
        found = self._others.get(user, default)
        if user != self._user.name or not self._user.groups:
            return found
        return found | frozenset(group.lower() for group in self._user.groups)
