"""The query that every symbolic hook evaluates: the space, the merged settings and the method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from whimbrel.access.atoms import Atom, GroupMember
from whimbrel.access.decision import Undecided
from whimbrel.access.environment import AccessEnvironment, ModuleSettings, ProviderAlias
from whimbrel.access.layers import AccessLayer
from whimbrel.access.space import Function, Space
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.engine.plan.plan import Plan
from whimbrel.modules.support.auth.auth_api import AuthnCoreDirConfig, auth_type

S = TypeVar("S")
_SUFFIXES: Final = {"default": ("",), "db": ("",), "gdbm": ("",), "sdbm": (".dir", ".pag"), "ndbm": (".db",)}


@dataclass(frozen=True, eq=False)
class AccessQuery:
    """One query: the decision of *plan* about requests with the method number *method*."""

    space: Space
    environment: AccessEnvironment
    settings: ModuleSettings
    plan: Plan
    chain: Sequence[AccessLayer]
    method: int

    @property
    def is_22(self) -> bool:
        """Return True if the query is for 2.2."""
        return self.plan.dialect.access_in_core

    def dir_config(self, kind: type[S]) -> S:
        """Return the merged settings of *kind*."""
        return self.plan.dir_config(kind)

    def applies_to(self, methods: int) -> bool:
        """Return True if the method is in a mask of <Limit>."""
        return bool(methods >> self.method & 1)

    def variable(self, atom: Atom) -> Function:
        """Return the variable of *atom*."""
        return self.space.variable(atom)

    def any_member(self, source: str, groups: Iterable[str]) -> Function:
        """Return the condition that the user is in one of *groups*."""
        return self.space.any_of(self.variable(GroupMember(source, group)) for group in sorted(set(groups)))

    def with_alias(self, alias: ProviderAlias) -> AccessQuery:
        """Return the query with the settings of an alias merged."""
        return replace(
            self, plan=self.plan.with_layer(alias.layer), chain=(*self.chain, AccessLayer(alias.lines))
        )

    def file_source(self, path: str) -> str:
        """Return the name of a password file in atoms."""
        return f"file {self.environment.identity(path)}"

    def group_source(self, path: str) -> str:
        """Return the name of a group file in atoms."""
        return f"file {self.environment.group_identity(path)}"

    def dbm_source(self, path: str, kind: str) -> str:
        """Return the name of a DBM file in atoms."""
        return f"dbm {kind} {self.environment.dbm_identity(path, kind)}"

    def unreadable(self, path: str) -> bool:
        """Return True if the server is known to be unable to read the file."""
        return self.environment.readable(path) is False

    def unreadable_dbm(self, path: str, kind: str) -> bool:
        """Return True if the server is known to be unable to read a DBM file; the kinds append different
        suffixes to its name."""
        low = kind.lower()
        if low not in _SUFFIXES:
            return True  # no driver has that name
        return any(self.unreadable(path + suffix) for suffix in _SUFFIXES[low])

    def auth_type(self) -> str | None:
        """Return AuthType in lower case, None without authentication.

        Raises Undecided if it depends on the request.
        """
        if not self.is_22:
            value = self.dir_config(AuthnCoreDirConfig).auth_type
            if value is not None and value.fixed is None:
                raise Undecided("AuthType is an expression")
        auth_type_name = auth_type(self.plan)(None)  # type: ignore[arg-type]
        return None if auth_type_name is None else auth_type_name.lower()

    def auth_name(self) -> str | None:
        """Return AuthName; an expression is returned as its text."""
        if self.is_22:
            return self.dir_config(CoreDirConfig).auth_name
        value = self.dir_config(AuthnCoreDirConfig).auth_name
        if value is None:
            return None
        if value.fixed is None:
            return value.string.text
        return value.fixed

    def lines(self, *families: str) -> str:
        """Return the lines whose names begin with one of *families*, outermost first, as normalized text.

        They stand for the configuration of a provider without a model.
        """
        return "; ".join(
            " ".join([line.name, *line.args.split()])
            for layer in self.chain
            for line in layer.lines
            if line.name.startswith(families)
        )
