"""The loaded modules, and the lookup of a directive's table rows by name.

As in httpd, the module that was loaded last comes first, and every module that declares the name executes the
directive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whimbrel.base.static_typing import Any
from whimbrel.catalogue.context_rules import NOWHERE, forbidden_places
from whimbrel.catalogue.load import DirectiveEntry as CatalogueRow
from whimbrel.directives.spec import Args, Context, Setter, Versions
from whimbrel.registry.module import Module

_EXEC_ON_READ = int(Context.EXEC_ON_READ)
_BOTH = Versions.BOTH


def known_in(versions: Versions, version: Versions) -> bool:
    """Return True if *version* has it; most is in both, and operations on flags take their time."""
    return versions is _BOTH or bool(versions & version)


def _nothing(_command: object, _record: object, _words: list[str]) -> None:
    """There is no behaviour."""


LineCheck = Callable[[Any, list[list[str]]], None]
LineChecker = Callable[[CatalogueRow], LineCheck]


def _without_rules(_row: CatalogueRow) -> LineCheck:
    """Return a check that accepts every line."""
    return lambda _state, _calls: None


class BoundDirective:
    """A directive of a loaded module, prepared for execution.

    Attributes:
        name, help: as in the catalogue.
        apply: the setter; does nothing for a directive without behaviour.
        dir_config, server: the type of the record that the setter gets; both None: it gets none.
        forbidden: contexts that the directive's own function refuses.
        line: for a directive without behaviour: checks all setter calls of one line.
    """

    __slots__ = (
        "apply",
        "args",
        "exec_on_read",
        "dir_config",
        "forbidden",
        "help",
        "implemented",
        "line",
        "module",
        "name",
        "server",
        "where",
    )

    def __init__(self, row: CatalogueRow, module: Module, check: LineChecker) -> None:
        name = row.name
        self.name = name
        self.help = row.help
        self.module = module
        self.args = Args[row.args]
        self.where = row.where
        self.exec_on_read = bool(row.where & _EXEC_ON_READ)
        is_checked = row.forbidden_in and name not in module.own_context_checks
        self.forbidden = forbidden_places(row) if is_checked else NOWHERE
        self.dir_config = module.dir_config if name in module.dir_setters else None
        self.server = module.server_config if name in module.server_setters else None
        setter = module.setter(name)
        self.apply: Setter = setter or _nothing
        self.line = check(row) if setter is None else None
        self.implemented = setter is not None and name not in module.unimplemented

    def __repr__(self) -> str:
        return f"Row({self.name} of {self.module.source}, {Args(self.args).name})"


Rows = tuple[BoundDirective, ...]


class LoadedModules:
    """Modules in load order, their directives by lower-case name, their providers by group and name."""

    __slots__ = ("_by_name", "_by_spelling", "_identifiers", "_providers", "modules", "names", "version")

    def __init__(self, version: Versions) -> None:
        self.version = version
        self.modules: list[Module] = []
        self.names: set[str] = set()
        self._identifiers: frozenset[str] | None = None
        self._by_name: dict[str, Rows] = {}
        self._by_spelling: dict[str, Rows | None] = {}
        self._providers: dict[tuple[str, str], Any] = {}

    @property
    def identifiers(self) -> frozenset[str]:
        """Return the identifiers (``dir_module``) of all loaded modules."""
        if self._identifiers is None:
            self._identifiers = frozenset(module.name for module in self.modules)
        return self._identifiers

    def add(
        self,
        module: Module,
        rows: Iterable[CatalogueRow] = (),
        check: LineChecker = _without_rules,
        *,
        is_listed: bool = True,
    ) -> None:
        """Load *module*, whose directives are *rows*; *check* makes the check of lines of those that have no
        behaviour.

        Only a module that *is_listed* stands in `modules`.
        """
        if is_listed:
            self.modules.append(module)
        self.names |= {module.name, module.source}
        for row in rows:
            key = row.name.lower()
            self._by_name[key] = (BoundDirective(row, module, check), *self._by_name.get(key, ()))
        for provider in module.providers:
            if known_in(provider.versions, self.version):
                self._providers[provider.group, provider.name] = provider.value
        self._by_spelling.clear()
        self._identifiers = None

    def rows(self, name: str) -> Rows | None:
        """Return the rows of a directive, the module loaded last first; None if no module declares it."""
        try:
            return self._by_spelling[name]
        except KeyError:
            rows = self._by_name.get(name.lower())
            self._by_spelling[name] = rows
            return rows

    def provider(self, group: str, name: str) -> Any:
        """Return a provider, None without one.

        Variables of expressions may also come from functions of names, the providers of "expr_variables".
        """
        found = self._providers.get((group, name))
        if found is None and group == "expr_variable":
            for find in self.providers("expr_variables").values():
                found = found or find(name)
        return found

    def register_provider(self, group: str, name: str, value: object) -> None:
        """Register what a directive defines: a filter of ExtFilterDefine or FilterDeclare."""
        self._providers[group, name] = value

    def providers(self, group: str) -> dict[str, Any]:
        """Return all providers of a group by name; those loaded last win."""
        return {name: value for (of, name), value in self._providers.items() if of == group}

    def __contains__(self, module: str) -> bool:
        return module in self.names
