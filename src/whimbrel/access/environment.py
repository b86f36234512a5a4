"""Merged settings of chains of lines, made by the engine's own setters and merge functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from whimbrel.access.layers import ALIASES, AccessLayer, AccessLine
from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, SourceLocation, StartError
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.catalogue.third_party import product_of
from whimbrel.config import model
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import IN_MAIN_FILE, IN_SECTION, CommandContext
from whimbrel.config.load import add_module, catalogue_of, new_configuration
from whimbrel.config.model import WALKS, SectionKind, Server
from whimbrel.config.options import LoadOptions
from whimbrel.directives.node import Node
from whimbrel.directives.spec import Context
from whimbrel.directives.tokens import getword, words
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.plan.plan_cache import PlanCache
from whimbrel.modules import ALL
from whimbrel.modules.aaa.mod_authz_core.providers import refuse
from whimbrel.modules.aaa.mod_authz_core.setters import AuthzCoreServerConfig, check_trees
from whimbrel.modules.ssl.mod_ssl.settings import SslDirConfig, SslRequirement
from whimbrel.modules.support.auth.auth_api import AuthnProvider, AuthzProvider, BoundAuthn
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import UNSET, with_defaults

_NOWHERE: Final = SourceLocation("", 0)
_AUTHN_LINES: Final = frozenset(("authbasicprovider", "authdigestprovider", "authformprovider"))
_WALKS: Final = {SectionKind.SERVER: -1, **WALKS}


@dataclass(frozen=True, eq=False)
class AccessEnvironment:
    """The surroundings of a decision: everything besides the sections.

    Attributes:
        modules: the identifiers of LoadModule in load order, with or without ``_module``; 2.2 runs its
            authorization modules in that order. The built-in modules of the recorded binaries are always
            there.
        root: the ServerRoot.
        readable: a function from the absolute path of a password or group file to True, False, or None if it
            is unknown; None counts as readable.
        aliases: the <AuthnProviderAlias> and <AuthzProviderAlias> containers.
        methods: method names that the main file registers (<Limit>, RegisterHttpMethod); those of the chain
            may be missing.
        identity: a function from the path of a password file to its name in atoms: files of one name have
            the same users.
        group_identity: the same of a group file: files of one name have the same groups.
        dbm_identity: the same of a DBM file, by its path and its type.
        may_be_strict: SSLOptions outside of the chain may set StrictRequire; both cases are decided.
    """

    modules: tuple[str, ...]
    root: str = "/"
    readable: Callable[[str], bool | None] = lambda _path: None
    aliases: tuple[AccessLine, ...] = ()
    methods: tuple[str, ...] = ()
    identity: Callable[[str], str] = lambda path: path
    group_identity: Callable[[str], str] = lambda path: path
    dbm_identity: Callable[[str, str], str] = lambda path, _kind: path
    may_be_strict: bool = False
    _settings: dict[str, ModuleSettings] = field(default_factory=dict, init=False, repr=False)

    def settings(self, dialect: Dialect) -> ModuleSettings:
        """Return the modules under *dialect*, set up once.

        Raises ConfigError for aliases that the server refuses.
        """
        settings_found = self._settings.get(dialect.name)
        if settings_found is None:
            settings_found = ModuleSettings(self, dialect)
            self._settings[dialect.name] = settings_found
        return settings_found

    def with_aliases(self, aliases: Sequence[AccessLine], dialect: Dialect) -> AccessEnvironment:
        """Return the environment with those of *aliases* that the server of *dialect* admits as well."""
        accepted = self
        for alias in aliases:
            extended = replace(accepted, aliases=(*accepted.aliases, alias))
            try:
                extended.settings(dialect)
            except ConfigError:
                continue
            accepted = extended
        return accepted


@dataclass(frozen=True)
class ProviderAlias:
    """A provider under another name: *base* with the arguments *args* and the settings *layer*, the result of
    *lines*."""

    base: str
    args: str
    layer: model.Layer
    lines: tuple[AccessLine, ...]


class BrokenHtaccess(Exception):
    """A .htaccess file with an error: httpd answers every request that reads it with 500."""


class ModuleSettings:
    """A configuration with modules and aliases, but without sections; sections are executed one by one and
    merged as for a request."""

    def __init__(self, environment: AccessEnvironment, dialect: Dialect) -> None:
        self.configuration = new_configuration(LoadOptions(server_root=environment.root), ALL, dialect)
        catalogue = catalogue_of(dialect)
        self.foreign: list[str] = []
        for name in environment.modules:
            row = catalogue.module(name if name.endswith("_module") else f"{name}_module")
            if row is None:
                self.foreign.append(name)
            elif row.identifier not in self.configuration.modules:
                add_module(self.configuration, row)
        for name in environment.methods:
            self.configuration.methods.register(name)
        self.plans = PlanCache(self.configuration)
        self._layers: dict[AccessLayer, model.Layer | ConfigError] = {}
        self.aliases: dict[str, dict[str, ProviderAlias]] = {kind: {} for kind in ALIASES}
        for kind in ALIASES:
            self.aliases[kind] = dict(self._aliases(environment.aliases, kind))

    def may_register(self, group: str, name: str) -> bool:
        """Return True if a module without a model may register *name*, see `ThirdPartyProduct.providers`."""
        found = map(product_of, self.foreign)
        return any(product is not None and product.may_register(group, name) for product in found)

    def _aliases(self, lines: Sequence[AccessLine], kind: str) -> Iterator[tuple[str, ProviderAlias]]:
        for line in lines:
            if line.name == kind:
                self._execute((line,), SectionKind.SERVER, self.configuration.main.defaults, False)
                base_name, rest = getword(line.args)
                name, rest = getword(rest)
                layer = model.Layer(SectionKind.DIRECTORY)
                self._execute(line.children, SectionKind.DIRECTORY, layer, False)
                yield name, ProviderAlias(base_name, getword(rest)[0], layer, line.children)

    def merge(self, chain: Sequence[AccessLayer]) -> Plan:
        """Return the settings that *chain* gives: the layers of one walk are merged with each other first.

        Raises ConfigError, or BrokenHtaccess for an error in a .htaccess file.
        """
        for layer in chain:
            if not layer.in_htaccess:
                # The main file comes first: every .htaccess file knows the methods that its <Limit> sections
                # register.
                self._layer(layer)
        result = self.plans.root(self.configuration.main)
        for walk, layers in groupby(chain, key=lambda layer: _WALKS.get(layer.kind, 0)):
            joined: model.Layer | None = None
            for layer in layers:
                config_layer = self._layer(layer)
                if walk < 0:
                    result = result.with_layer(config_layer)
                else:
                    joined = self.plans.merge_layers(joined, config_layer)
            result = result if joined is None else result.with_layer(joined)
        return result

    def _layer(self, layer: AccessLayer) -> model.Layer:
        config_layer = self._layers.get(layer) or self._build_layer(layer)
        if isinstance(config_layer, ConfigError) and layer.in_htaccess:
            # A later chain may register the missing method, so this result is not cached.
            raise BrokenHtaccess(str(config_layer))
        self._layers[layer] = config_layer
        if isinstance(config_layer, ConfigError):
            raise config_layer
        return config_layer

    def _build_layer(self, layer: AccessLayer) -> model.Layer | ConfigError:
        config_layer = model.Layer(layer.kind, layer.place)
        lines, requirements = _without_requirements(layer.lines)
        try:
            self._execute(
                [line for line in lines if line.name not in ALIASES],
                layer.kind,
                config_layer,
                layer.in_htaccess,
            )
        except ConfigError as problem:
            return problem
        except StartError as problem:
            return ConfigError(problem.lines[0], layer.place, bare=True)
        if requirements:
            record = config_layer.records.setdefault(SslDirConfig, SslDirConfig())
            record.requirements = [SslRequirement(text, _is_not_evaluated) for text in requirements]
        return config_layer

    def _execute(
        self, lines: Sequence[AccessLine], kind: SectionKind, config_layer: model.Layer, htaccess: bool
    ) -> None:
        """Execute *lines* into *config_layer*; raises ConfigError, or StartError for what httpd checks after
        reading."""
        if htaccess:
            allowed = int(Context.OR_ALL)
        elif kind is SectionKind.SERVER:
            allowed = IN_MAIN_FILE
        else:
            allowed = IN_SECTION
        state = CommandContext(self.configuration, self.configuration.main, config_layer, allowed)
        state.in_htaccess = htaccess
        state.path = "" if kind is SectionKind.SERVER else "/"
        outer = None if kind in (SectionKind.SERVER, SectionKind.HTACCESS) else Node(kind.value, "", _NOWHERE)
        record = self.configuration.main.records.get(AuthzCoreServerConfig)
        if record is not None:
            record.records = UNSET
        if self.foreign:
            self._register_foreign(lines)
        state.walk([node for node in _nodes(lines, outer) if not htaccess or self._is_implemented(node)])
        if not htaccess:
            check_trees(_Trees(self.configuration))

    def _register_foreign(self, lines: Sequence[AccessLine]) -> None:
        """Register the unknown names of Require lines, and of lines about users, as providers of the modules
        without a model."""
        for line in lines:
            self._register_foreign(line.children)
            names = words(line.args)
            if line.name in _AUTHN_LINES:
                for name in names:
                    self._register("authn", name, AuthnProvider(lambda _scope: BoundAuthn(_no_password)))
            elif line.name == "require" and names and not self.configuration.dialect.access_in_core:
                name = names[1] if names[0].lower() == "not" and len(names) > 1 else names[0]
                self._register("authz", name, AuthzProvider(refuse("a module that is not known")))

    def _register(self, group: str, name: str, entry: object) -> None:
        """Register a provider unless a module or an alias has its name."""
        modules = self.configuration.modules
        if name not in self.aliases[f"{group}provideralias"] and modules.provider(group, name) is None:
            provider = Provider(group, name, entry)
            modules.add(Module(name=f"foreign {name}", source="", providers=(provider,)))

    def _is_implemented(self, node: Node) -> bool:
        """Return True if the line can be executed; in a .htaccess file a line without behaviour is an error
        that decides nothing."""
        rows = self.configuration.modules.rows(node.name)
        return rows is None or any(row.implemented for row in rows)


def _without_requirements(lines: Sequence[AccessLine]) -> tuple[list[AccessLine], list[str]]:
    """Return *lines* without SSLRequire, and the conditions of those: the versions have different languages
    for them, so that a condition that is to be rewritten would not compile."""
    left: list[AccessLine] = []
    conditions: list[str] = []
    for line in lines:
        if line.name == "sslrequire":
            conditions.append(line.args.strip())
        elif line.children:
            inner, more = _without_requirements(line.children)
            left.append(replace(line, children=tuple(inner)))
            conditions += more
        else:
            left.append(line)
    return left, conditions


def _is_not_evaluated(_request: object) -> bool:
    raise AssertionError("a condition is an atom here")


async def _no_password(_request: object, _user: str, _password: str) -> int:
    raise AssertionError("a password is an atom here")


class _Trees:
    """The configuration as `check_trees` reads it: the rules of the layer that was executed last."""

    def __init__(self, configuration: Configuration) -> None:
        self._main = configuration.main
        self.dialect = configuration.dialect
        self.loaded = configuration.loaded
        self.warn = configuration.warn

    def servers(self) -> Sequence[Any]:
        server = Server()
        record = self._main.records.get(AuthzCoreServerConfig)
        if record is not None:
            server.records[AuthzCoreServerConfig] = with_defaults(record)
        return [server]


def _nodes(lines: Sequence[AccessLine], parent: Node | None) -> list[Node]:
    nodes = []
    for line in lines:
        if line.is_container:
            node = Node(f"<{line.name}", f"{line.args}>", line.place or _NOWHERE, parent)
            node.children = _nodes(line.children, node)
        else:
            node = Node(line.name, line.args, line.place or _NOWHERE, parent)
        nodes.append(node)
    return nodes
