"""The loaded modules, and the lookup of a directive's table rows by name.

As in httpd, the module that was loaded last comes first, and every module that declares the name executes the
directive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whimbrel.base.static_typing import Any
from whimbrel.catalogue.load import DirectiveEntry as CatalogueRow
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Context, Versions
from whimbrel.registry.module import Module

_EXEC_ON_READ = int(Context.EXEC_ON_READ)
_BOTH = Versions.BOTH


def known_in(versions: Versions, version: Versions) -> bool:
    """Return True if something of *versions* is there in *version*; most is in both, and operations on flags
    take their time.
    """
    return versions is _BOTH or bool(versions & version)


class BoundDirective:
    """A directive's row, prepared for execution: integers, the record that it sets, its module.

    *line* is set for a directive without behaviour: it checks all setter calls of one line.
    """

    __slots__ = (
        "apply",
        "args",
        "exec_on_read",
        "dir_config",
        "help",
        "implemented",
        "line",
        "module",
        "name",
        "server",
        "where",
    )

    def __init__(
        self,
        directive: AnyDirective,
        module: Module,
        line: Callable[[Any, list[list[str]]], None] | None = None,
    ) -> None:
        self.name, self.args, self.help = directive.name, directive.args, directive.help
        self.apply: Callable[[Any, Any, list[str]], None] = directive.apply
        self.where = int(directive.where)
        self.exec_on_read = bool(self.where & _EXEC_ON_READ)
        self.dir_config = module.dir_config if directive.record is ConfigScope.DIRECTORY else None
        self.server = module.server_config if directive.record is ConfigScope.SERVER else None
        self.module, self.line = module, line
        self.implemented = line is None and directive.name not in module.unimplemented

    @classmethod
    def without_behaviour(
        cls, row: CatalogueRow, module: Module, line: Callable[[Any, list[list[str]]], None]
    ) -> BoundDirective:
        """Return the row of a directive that only the catalogue knows."""
        bound = cls.__new__(cls)
        bound.name, bound.args, bound.help, bound.apply, bound.where = (
            row.name,
            Args[row.args],
            row.help,
            _nothing,
            row.where,
        )
        bound.exec_on_read, bound.dir_config, bound.server = bool(row.where & _EXEC_ON_READ), None, None
        bound.module, bound.line, bound.implemented = module, line, False
        return bound

    def __repr__(self) -> str:
        return f"Row({self.name} of {self.module.source}, {Args(self.args).name})"


def _nothing(_command: Any, _record: Any, _words: list[str]) -> None:
    """There is no behaviour."""


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
        self, module: Module, further: Iterable[BoundDirective] = (), *, is_listed: bool = True
    ) -> None:
        """Load *module*; *further* rows are its directives that have no behaviour yet.

        Only a module that *is_listed* stands in `modules`.
        """
        if is_listed:
            self.modules.append(module)
        self.names |= {module.name, module.source}
        rows = [BoundDirective(d, module) for d in module.directives if known_in(d.versions, self.version)]
        for row in [*rows, *further]:
            key = row.name.lower()
            self._by_name[key] = (row, *self._by_name.get(key, ()))
        for provider in module.providers:
            if known_in(provider.versions, self.version):
                self._providers[provider.group, provider.name] = provider.value
        self._by_spelling.clear()
        self._identifiers = None

    def rows(self, name: str) -> Rows | None:
        """Return the rows for a directive as written, those of the module loaded last first; None if no
        module declares it.
        """
        try:
            return self._by_spelling[name]
        except KeyError:
            rows = self._by_spelling[name] = self._by_name.get(name.lower())
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

    def register_provider(self, group: str, name: str, value: Any) -> None:
        """Register what a directive defines: a filter of ExtFilterDefine or FilterDeclare."""
        self._providers[group, name] = value

    def providers(self, group: str) -> dict[str, Any]:
        """Return all providers of a group by name; those loaded last win."""
        return {name: value for (of, name), value in self._providers.items() if of == group}

    def __contains__(self, module: str) -> bool:
        return module in self.names
