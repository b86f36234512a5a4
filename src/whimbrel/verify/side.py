"""Side: a configuration loaded under a dialect, with engines that answer for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from whimbrel.base.dialect import DIALECTS, Dialect
from whimbrel.base.errors import ConfigError, MissingResource, SourceLocation, StartError
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.base.programs import without_programs
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import root_relative
from whimbrel.config.includes import read_overlaid
from whimbrel.config.load import complete, read_as_its_build, register_providers
from whimbrel.config.messages import format_error
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.registry.module import Module
from whimbrel.upgrade.knowledge.loaded import scope_of, scope_of_missing
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem
from whimbrel.upgrade.knowledge.start_stops import StartStops, start_stops
from whimbrel.upgrade.source.binary import as_binary
from whimbrel.upgrade.source.text_faults import sentences
from whimbrel.verify.answer import Answer
from whimbrel.verify.answering import answer_probe
from whimbrel.verify.assumptions import ProbeModules
from whimbrel.verify.digest_user import authorization
from whimbrel.verify.probe import Probe
from whimbrel.verify.probe_engine import AccessCheck, ProbeEngine
from whimbrel.verify.probe_runtime import ProbeRuntime

MODULES: Final[Mapping[str, Module]] = ProbeModules()


@dataclass(frozen=True, slots=True)
class LoadError:
    """Why a configuration does not load: the text that httpd prints, and the line."""

    text: str
    place: SourceLocation | None = None


def with_faults(text: str, options: LoadOptions, place: SourceLocation | None = None) -> str:
    """Return httpd's message with a line about each fault of the text at *place*, by default the main file.

    For a program or UTF-16 httpd complains about what it misses in it; before a misspelled line it may stop
    at another one.
    """
    path = place.path if place is not None else root_relative(options.server_root, options.file)
    try:
        data = read_overlaid(path, options)
    except OSError:
        return text
    lines = sentences(path, data, line=place.line if place is not None else None)
    return "\n".join((text, *lines))


@dataclass(eq=False)
class Side:
    """One configuration under one dialect.

    Attributes:
        name: of the side in reports (old, new).
        options: httpd's -d -f -C -c -D.
        configuration: None if it does not load; *errors* then has the reasons.
        missing: what lines name and this machine does not have; these lines were left out.
        assumed: what is assumed about the binary.
        foreign_libraries: see `Configuration`; those before the first error.
    """

    name: str
    options: LoadOptions
    dialect: Dialect
    configuration: Configuration | None = None
    errors: tuple[LoadError, ...] = ()
    missing: tuple[MissingResource, ...] = ()
    assumed: tuple[UnknownItem, ...] = ()
    foreign_libraries: Mapping[SourceLocation, str] = field(default_factory=dict)
    runtime: ProbeRuntime = field(default_factory=ProbeRuntime)
    _engine: Engine | None = None
    _probing: ProbeEngine | None = None

    @classmethod
    def load(
        cls,
        options: LoadOptions,
        dialect: Dialect | str,
        *,
        name: str = "",
        now: float | None = None,
        modules: Mapping[str, Module] = MODULES,
        check_only: bool = False,
        is_hopeless: Callable[[Configuration], bool] | None = None,
    ) -> Side:
        """Return the side; a configuration that does not load gives one with `errors`.

        *now* is the time of all answers. Programs that reading would start are not started.
        Under 2.2 the binary has the modules that the text implies.
        *check_only* omits the steps of modules that follow reading (see `Module.post_config`).
        What *is_hopeless* finds in the lines that were read ends the loading, without errors.
        """
        dialect = DIALECTS[dialect] if isinstance(dialect, str) else dialect
        options, assumed = as_binary(replace(options, check_only=check_only), dialect)
        side = cls(name or dialect.name, options, dialect, assumed=tuple(assumed))
        side.runtime = ProbeRuntime(now)
        readings = list[Configuration]()
        try:
            with without_programs():
                configuration = read_as_its_build(side.options, modules, dialect, readings.append)
                if is_hopeless is not None and is_hopeless(configuration):
                    return side
                side.configuration = complete(configuration)
                if check_only:
                    register_providers(configuration)
            side.runtime.open_segments(side.configuration)
        except ConfigError as problem:
            side.configuration = None
            text = format_error(problem, dialect, is_short=True)
            side.errors = (LoadError(with_faults(text, side.options, problem.place), problem.place),)
        except StartError as problem:
            side.configuration = None
            side.errors = (LoadError(with_faults(format_error(problem, dialect), side.options)),)
        side.missing = tuple(readings[-1].missing)
        side.foreign_libraries = readings[-1].foreign_libraries
        return side

    @property
    def is_loaded(self) -> bool:
        """Return True if the configuration was loaded."""
        return self.configuration is not None

    @property
    def start_stops(self) -> StartStops:
        """What ends the start on this machine; nothing of a side that does not load."""
        return StartStops() if self.configuration is None else start_stops(self.configuration, self.missing)

    @property
    def scope(self) -> KnowledgeScope:
        """What was read, and what is unknown, without directories that are not here."""
        if self.configuration is None:
            return scope_of_missing(self.missing).with_items(self.assumed)
        return scope_of(self.configuration, self.missing).with_items(self.assumed)

    @property
    def loaded(self) -> Configuration:
        """The configuration; for sides that are loaded."""
        assert self.configuration is not None
        return self.configuration

    @property
    def engine(self) -> Engine:
        """An ordinary engine of the configuration, with all its caches: for many requests."""
        if self._engine is None:
            self._engine = Engine(self.loaded, self.runtime)
        return self._engine

    @property
    def probing(self) -> ProbeEngine:
        """The engine of `answer`: without caches; it records access checks."""
        if self._probing is None:
            self._probing = ProbeEngine(self.loaded, self.runtime)
        return self._probing

    def answer(self, probe: Probe, *, with_lines: bool = False) -> Answer:
        """Return the answer to *probe*; *with_lines* adds the lines that decided, which takes longer.

        No probe makes it raise: what cannot be answered has status 500.
        """
        answer, _ = self.checked(probe)
        if not with_lines:
            return answer
        from whimbrel.verify.deciding_lines import deciding_lines

        return replace(answer, lines=deciding_lines(self, probe))

    def checked(self, probe: Probe) -> tuple[Answer, tuple[AccessCheck, ...]]:
        """Return the answer and the access checks that led to it, the probe's own first."""
        user = probe.user
        if user is not None and user.scheme != "basic":
            challenged, _ = answer_probe(self.probing, probe)
            value = authorization(probe, challenged)
            if value:
                probe = replace(probe, fields=(*probe.fields, ("Authorization", value)))
        return answer_probe(self.probing, probe)

    def each_node(self, visit: Callable[[Any], None]) -> None:
        """Call *visit* with every directive of the main files, containers before their contents."""
        waiting = list(reversed(self.loaded.tree)) if self.is_loaded else []
        while waiting:
            node = waiting.pop()
            visit(node)
            waiting.extend(reversed(node.children))


def replaced_paths(old: Side, new: Side) -> frozenset[str]:
    """Return the paths at which files have the text of *new*, and *old* another one: that of a backup."""
    return frozenset(old.options.overlay.keys() - new.options.overlay.keys())
