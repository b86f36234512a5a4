"""Chains of lines to merged settings, by the engine's own setters and merges: what a line means is said once, in modules/."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from whimbrel.access.layers import ALIASES, Layer, Line
from whimbrel.config import model
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import IN_MAIN_FILE, IN_SECTION, CommandState
from whimbrel.config.load import add_module, catalogue_of, new_configuration
from whimbrel.config.model import SectionKind, Server
from whimbrel.config.options import LoadOptions
from whimbrel.dialect import Dialect
from whimbrel.directives.node import Node
from whimbrel.directives.spec import Where
from whimbrel.directives.words import getword
from whimbrel.errors import ConfigError, Place, StartError
from whimbrel.modules import ALL
from whimbrel.modules.auth_api import AuthzProvider
from whimbrel.modules.mod_authz_core.providers import refuse
from whimbrel.modules.mod_authz_core.setters import AuthzCoreServer, check_trees
from whimbrel.records import dataclass, field
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import UNSET, filled
from whimbrel.request import plan

_NOWHERE: Final = Place("", 0)
_WALKS: Final = {SectionKind.SERVER: -1, SectionKind.FILES: 1, SectionKind.FILES_MATCH: 1, SectionKind.LOCATION: 2, SectionKind.LOCATION_MATCH: 2,
                 SectionKind.IF: 3, SectionKind.ELSE_IF: 3, SectionKind.ELSE: 3}


@dataclass(frozen=True, eq=False)
class World:
    """What a decision depends on besides the sections.

    *modules* are LoadModule's identifiers in load order, with or without ``_module`` (2.2 asks its authorization modules in that order); what the
    recorded binaries have built in is always there.  *root* is the server root.  *readable* (absolute path of a password or group file) says
    whether the server can read it; None, not known, counts as readable.  *aliases* are the <AuthnProviderAlias> and <AuthzProviderAlias> containers.
    *methods* are names that the main file registers somewhere (<Limit>, RegisterHttpMethod); those of the chain itself need not be among them.
    """

    modules: tuple[str, ...]
    root: str = "/"
    readable: Callable[[str], bool | None] = lambda _path: None
    aliases: tuple[Line, ...] = ()
    methods: tuple[str, ...] = ()
    _settings: dict[str, Settings] = field(default_factory=dict, init=False, repr=False)

    def settings(self, dialect: Dialect) -> Settings:
        """The modules of this world under *dialect*, set up once.  Raises ConfigError for aliases that the server refuses."""
        found = self._settings.get(dialect.name)
        if found is None:
            found = self._settings[dialect.name] = Settings(self, dialect)
        return found


@dataclass(frozen=True)
class Alias:
    """A provider under another name: *base* with the arguments *given* and the settings of *layer*, which *lines* made."""

    base: str
    given: str
    layer: model.Layer
    lines: tuple[Line, ...]


class Broken(Exception):
    """A .htaccess file with an error: it fails every request that meets it."""


class Settings:
    """A configuration that holds modules and aliases but no section; sections are executed one by one and merged as a request would."""

    def __init__(self, world: World, dialect: Dialect) -> None:
        self.configuration = new_configuration(LoadOptions(server_root=world.root), ALL, dialect)
        known = catalogue_of(dialect)
        self.foreign: list[str] = []
        for name in world.modules:
            row = known.module(name if name.endswith("_module") else f"{name}_module")
            if row is None:
                self.foreign.append(name)
            elif row.identifier not in self.configuration.modules:
                add_module(self.configuration, row)
        for name in world.methods:
            self.configuration.methods.register(name)
        self.plans = plan.World(self.configuration)
        self._layers: dict[Layer, model.Layer | ConfigError] = {}
        self.aliases: dict[str, dict[str, Alias]] = {kind: {} for kind in ALIASES}
        for kind in ALIASES:
            self.aliases[kind] = dict(self._aliases(world.aliases, kind))

    def _aliases(self, lines: Sequence[Line], kind: str) -> Iterator[tuple[str, Alias]]:
        for line in lines:
            if line.name == kind:
                self._execute((line,), SectionKind.SERVER, self.configuration.main.defaults, False)
                base, rest = getword(line.args)
                name, rest = getword(rest)
                layer = model.Layer(SectionKind.DIRECTORY)
                self._execute(line.children, SectionKind.DIRECTORY, layer, False)
                yield name, Alias(base, getword(rest)[0], layer, line.children)

    def merged(self, chain: Sequence[Layer]) -> plan.Plan:
        """The settings where *chain* applies: the layers of one walk are merged with each other first.  Raises ConfigError, Broken."""
        for layer in chain:
            if not layer.htaccess:
                self._layer(layer)  # httpd reads the main file first: methods that <Limit> registers there are known in every .htaccess file
        result = self.plans.root(self.configuration.main)
        for walk, layers in groupby(chain, key=lambda layer: _WALKS.get(layer.kind, 0)):
            joined: model.Layer | None = None
            for layer in layers:
                made = self._layer(layer)
                if walk < 0:
                    result = result.plus(made)
                else:
                    joined = self.plans.joined(joined, made)
            result = result if joined is None else result.plus(joined)
        return result

    def _layer(self, layer: Layer) -> model.Layer:
        found = self._layers.get(layer) or self._made(layer)
        if isinstance(found, ConfigError) and layer.htaccess:
            raise Broken(str(found))  # not kept: a later chain may register the method that was missing
        self._layers[layer] = found
        if isinstance(found, ConfigError):
            raise found
        return found

    def _made(self, layer: Layer) -> model.Layer | ConfigError:
        made = model.Layer(layer.kind, layer.place)
        try:
            self._execute([line for line in layer.lines if line.name not in ALIASES], layer.kind, made, layer.htaccess)
        except ConfigError as problem:
            return problem
        except StartError as problem:
            return ConfigError(problem.lines[0], layer.place, bare=True)
        return made

    def _execute(self, lines: Sequence[Line], kind: SectionKind, made: model.Layer, htaccess: bool) -> None:
        """Execute *lines* for *made*; raises ConfigError, or StartError for what httpd finds once everything is read."""
        allowed = int(Where.OR_ALL) if htaccess else IN_MAIN_FILE if kind is SectionKind.SERVER else IN_SECTION
        state = CommandState(self.configuration, self.configuration.main, made, allowed)
        state.in_htaccess = htaccess
        state.path = "" if kind is SectionKind.SERVER else "/"
        outer = None if kind in (SectionKind.SERVER, SectionKind.HTACCESS) else Node(kind.value, "", _NOWHERE)
        record = self.configuration.main.records.get(AuthzCoreServer)
        if record is not None:
            record.records = UNSET
        if self.foreign:
            self._adopt(lines)
        state.walk([node for node in _nodes(lines, outer) if not htaccess or self._behaves(node)])
        if not htaccess:
            check_trees(_Trees(self.configuration))

    def _adopt(self, lines: Sequence[Line]) -> None:
        """Take the unknown words after Require for those of the modules that nobody knows here."""
        modules = self.configuration.modules
        for line in lines:
            self._adopt(line.children)
            if line.name != "require" or self.configuration.dialect.access_in_core:
                continue
            name, rest = getword(line.args)
            name = getword(rest)[0] if name.lower() == "not" else name
            if name not in self.aliases["authzprovideralias"] and modules.provider("authz", name) is None:
                provider = Provider("authz", name, AuthzProvider(refuse("a module that is not known")))
                modules.add(Module(name=f"foreign {name}", source="", providers=(provider,)))

    def _behaves(self, node: Node) -> bool:
        """Whether a line can be executed; in a .htaccess file one without behaviour is an error, and decides nothing here."""
        rows = self.configuration.modules.rows(node.name)
        return rows is None or any(row.implemented for row in rows)


class _Trees:
    """The configuration as `check_trees` looks at it: the trees of the layer that was executed last."""

    def __init__(self, configuration: Configuration) -> None:
        self._main = configuration.main
        self.dialect = configuration.dialect
        self.loaded, self.warn = configuration.loaded, configuration.warn

    def servers(self) -> Sequence[Any]:
        server = Server()
        found = self._main.records.get(AuthzCoreServer)
        if found is not None:
            server.records[AuthzCoreServer] = filled(found)
        return [server]


def _nodes(lines: Sequence[Line], parent: Node | None) -> list[Node]:
    found = []
    for line in lines:
        if line.is_container:
            node = Node(f"<{line.name}", f"{line.args}>", line.place or _NOWHERE, parent)
            node.children = _nodes(line.children, node)
        else:
            node = Node(line.name, line.args, line.place or _NOWHERE, parent)
        found.append(node)
    return found
