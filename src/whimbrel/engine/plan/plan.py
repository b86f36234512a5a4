"""Plans: one merged configuration with its hooks compiled, shared by all requests that the same layers match.

The plans of a server form a tree: `plan.with_layer(layer)` is the plan with one more section or .htaccess file laid over it, made at the first
request that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from whimbrel.base.dialect import Dialect
from whimbrel.base.numbers import strip
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig, merge_levels
from whimbrel.config.model import Layer, Section, Server
from whimbrel.registry.module import CompiledHook, Hook, Module, Reads
from whimbrel.registry.phases import DECLINED, OK, PHASES, HookFn, HookStatus, Phase, RunMode
from whimbrel.registry.settings import merge, with_defaults

S = TypeVar("S")
Hooks = tuple[tuple[HookFn, bool], ...]  # each with whether it may have to be waited for

MAX_HANDLERS: Final = 64  # names of which the hooks are remembered: media types among them
_BY_NAME: Final = {phase.name: phase for phase in PHASES}


class CompiledPhase:
    """The compiled hooks of one phase under one plan.

    *answer* is what the phase always answers, None where its hooks have to be asked.  *hooks* are all of them, *usual* those that may have a word
    about GET and HEAD; `named` are those for one handler.  *passes* are the answers after which the next hook is asked, None for all.
    *waits*: there are hooks that may have to be waited for.  *idle*: none has a word where there is no file (see `Made.needs_file`).
    """

    __slots__ = (
        "_hooks",
        "_named",
        "_types",
        "constant",
        "client",
        "hooks",
        "needs_file",
        "continue_on",
        "is_cacheable",
        "get_hooks",
        "is_async",
    )

    def __init__(self, hooks: Iterable[CompiledHook], run: RunMode) -> None:
        self._hooks = tuple(hooks)
        self._named: dict[str | None, Hooks] = {}
        self._types: dict[str | None, tuple[str, Hooks]] = {}
        reads = Reads.NOTHING
        for one in self._hooks:
            reads |= one.reads
        self.hooks = _callable(self._hooks)
        self.get_hooks = _callable(one for one in self._hooks if one.methods & 1)
        self.is_async = any(one.is_async for one in self._hooks)
        self.is_cacheable = not reads & (Reads.UNCACHEABLE | Reads.TIME)
        self.client = bool(reads & Reads.CLIENT)
        self.needs_file = all(one.needs_file for one in self._hooks) and self.is_cacheable and not self.client
        self.continue_on = (
            None if run is RunMode.VOID else (DECLINED,) if run is RunMode.RUN_FIRST else (OK, DECLINED)
        )
        self.constant = (
            self._always(DECLINED if run is RunMode.RUN_FIRST else OK)
            if self.is_cacheable and not self.client
            else None
        )

    def _always(self, otherwise: HookStatus) -> HookStatus | None:
        """What comes of hooks that answer all requests alike; *otherwise* where none of them ends the phase."""
        for one in self._hooks:
            if one.constant is None:
                return None
            if self.continue_on is not None and one.constant not in self.continue_on:
                return one.constant
        return otherwise

    def for_type(self, kind: str | None) -> tuple[str, Hooks]:
        """The handler of a request that none was named for, by its media type, and the hooks that may take it."""
        found = self._types.get(kind)
        if found is None:
            handler = strip(kind.split(";", 1)[0]) if kind else "default-handler"
            if len(self._types) >= MAX_HANDLERS:
                self._types.clear()
            found = self._types[kind] = (handler, self.named(handler))
        return found

    def named(self, handler: str | None) -> Hooks:
        """The hooks that may take a request for *handler*."""
        found = self._named.get(handler)
        if found is None:
            if len(self._named) >= MAX_HANDLERS:
                self._named.clear()
            found = self._named[handler] = _callable(
                one for one in self._hooks if one.handlers is None or handler in one.handlers
            )
        return found


def _callable(hooks: Iterable[CompiledHook]) -> Hooks:
    return tuple((one.fn, one.is_async) for one in hooks)


def ordered(entries: list[tuple[Module, Hook]]) -> tuple[Hook, ...]:
    """Hooks in httpd's order: by their number, equal ones in load order, then moved so that `before` and `after` hold."""
    todo = sorted(entries, key=lambda e: e[1].order)
    sources = {module.source for module, _ in todo}
    waits: list[tuple[Module, Hook, set[str]]] = []
    for module, hook in todo:
        needed = {s for s in hook.after if s in sources}
        needed |= {m.source for m, h in todo if module.source in h.before}
        waits.append((module, hook, needed - {module.source}))
    out: list[Hook] = []
    while waits:
        out.append(waits.pop(_first_free(waits))[1])
    return tuple(out)


def _first_free(waits: list[tuple[Module, Hook, set[str]]]) -> int:
    """The index of the first hook, or of what it waits for, and so on (APR's tsort)."""
    index = 0
    for _ in waits:
        needed = waits[index][2]
        before = next((i for i, (module, _, _) in enumerate(waits) if module.source in needed), None)
        if before is None:
            break
        index = before
    return index


class Locations:
    """The <Location> sections of a server, found by the first segment of a path where all are literal."""

    __slots__ = ("_by_first", "_everywhere", "sections")

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections
        self._by_first: dict[str, list[Section]] | None = None
        if all(
            section.regex is None and not section.fnmatch and section.pattern.startswith("/")
            for section in sections
        ):
            ranks: dict[str, list[int]] = {}
            for rank, section in enumerate(sections):
                ranks.setdefault(section.pattern.split("/", 2)[1], []).append(rank)
            everywhere = ranks.pop("", [])
            self._everywhere = [sections[rank] for rank in everywhere]
            self._by_first = {
                first: [sections[rank] for rank in sorted(own + everywhere)] for first, own in ranks.items()
            }

    def candidates(self, uri: str) -> Sequence[Section]:
        """Those that may be about *uri*, in their order; it has no doubled slashes."""
        if self._by_first is None or uri[:1] != "/":
            return self.sections
        return self._by_first.get(uri.split("/", 2)[1], self._everywhere)


class PlanCache:
    """What all plans of one configuration share."""

    __slots__ = ("_merged_layers", "_locations", "configuration", "dialect", "hooks", "by_host", "roots")

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.dialect = configuration.dialect
        modules = configuration.modules.modules
        self.hooks = {
            p.index: ordered([(m, h) for m in modules for h in m.hooks if h.phase is p]) for p in PHASES
        }
        self.roots: dict[int, Plan] = {}
        self.by_host: dict[Any, Plan] = {}  # the roots of the servers that requests were for; see routing.py
        self._merged_layers: dict[tuple[Layer, Layer], Layer] = {}
        self._locations: dict[int, Locations] = {}

    def locations(self, server: Server) -> Locations:
        """The <Location> sections of a server; hosts without such of their own share the main server's."""
        found = self._locations.get(id(server.locations))
        if found is None:
            found = self._locations[id(server.locations)] = Locations(server.locations)
        return found

    def merge_layers(self, base: Layer | None, over: Layer) -> Layer:
        """*over* laid on *base* as one layer: httpd merges the sections of one walk among themselves before it lays them over the settings."""
        if base is None:
            return over
        found = self._merged_layers.get((base, over))
        if found is None:
            records = dict(base.records)
            for kind, record in over.records.items():
                below = records.get(kind)
                records[kind] = record if below is None else merge(below, record)
            found = self._merged_layers[base, over] = Layer(over.kind, over.place, records)
        return found

    def root(self, server: Server) -> Plan:
        """The plan of a server's own defaults, no section laid over them."""
        plan = self.roots.get(id(server))
        if plan is None:
            plan = self.roots[id(server)] = self.plan(server, (), server.defaults.records)
        return plan

    def plan(self, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]) -> Plan:
        """A plan of this world."""
        return Plan(self, server, layers, records)

    def invalidate(self) -> None:
        """Drop every plan: a .htaccess file has changed."""
        self.roots.clear()
        self.by_host.clear()
        self._merged_layers.clear()


class Plan:
    """One merged configuration; also the Scope that hook makers see.

    The compiled hooks of each phase are an attribute of the phase's name.  These, the core's two records and the rest of `_LATER` are made when
    they are first asked for, and are plain attributes from then on.

    *levels* are those of LogLevel: a section's own words over the server's.  *satisfies* is the provider of that name, None where there is none;
    *is_always_granted* says that everybody may enter.  *server_rec* is the server.
    """

    __slots__ = (
        "_filled",
        "_with_layer",
        "access_checker",
        "access_checker_ex",
        "is_always_granted",
        "auth_checker",
        "check_user_id",
        "core",
        "dialect",
        "fixups",
        "handler",
        "header_parser",
        "insert_error_filter",
        "insert_filter",
        "layers",
        "levels",
        "locations",
        "log_transaction",
        "map_to_storage",
        "note_auth_failure",
        "notes",
        "post_read_request",
        "quick_handler",
        "records",
        "satisfies",
        "server_core",
        "server_rec",
        "translate_name",
        "type_checker",
        "walks",
        "world",
    )
    access: Any = None  # what runs the access phases in the place of process.check_access
    post_read_request: CompiledPhase
    quick_handler: CompiledPhase
    translate_name: CompiledPhase
    map_to_storage: CompiledPhase
    header_parser: CompiledPhase
    access_checker: CompiledPhase
    access_checker_ex: CompiledPhase
    check_user_id: CompiledPhase
    auth_checker: CompiledPhase
    type_checker: CompiledPhase
    fixups: CompiledPhase
    insert_filter: CompiledPhase
    insert_error_filter: CompiledPhase
    handler: CompiledPhase
    log_transaction: CompiledPhase
    note_auth_failure: CompiledPhase
    core: CoreDirConfig
    levels: dict[str, int]
    locations: Locations
    server_core: CoreServerConfig
    satisfies: Callable[[Any], str] | None
    is_always_granted: bool

    def __init__(
        self, world: PlanCache, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]
    ) -> None:
        self.world, self.server_rec, self.layers, self.records = world, server, layers, records
        self.dialect: Dialect = world.dialect
        self.notes: dict[Any, Any] = {}  # what modules compile for themselves, by their own keys
        self.walks: dict[
            str, Any
        ] = {}  # where walks that began with this plan ended, by folder (see walk.py)
        self._filled: dict[type[Any], Any] = {}
        self._with_layer: dict[Layer, Plan] = {}

    def __getattr__(self, name: str) -> Any:
        phase = _BY_NAME.get(name)
        if phase is not None:
            value: Any = CompiledPhase(self.make_hooks(phase), phase.run)
        elif name in _LAZY:
            value = _LAZY[name](self)
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    def with_layer(self, layer: Layer) -> Plan:
        """This plan with *layer* laid over it."""
        found = self._with_layer.get(layer)
        if found is None:
            records = dict(self.records)
            for kind, over in layer.records.items():
                base = records.get(kind)
                records[kind] = over if base is None else merge(base, over)
            found = self._with_layer[layer] = self.world.plan(self.server_rec, (*self.layers, layer), records)
        return found

    def dir_config(self, kind: type[S]) -> S:
        """The merged per-directory record of *kind*, defaults filled in."""
        found = self._filled.get(kind)
        if found is None:
            base = self.records.get(kind)
            found = self._filled[kind] = with_defaults(kind() if base is None else base)
        config: S = found
        return config

    def server_config(self, kind: type[S]) -> S:
        """The per-server record of *kind*, defaults filled in."""
        return self.server_rec.config(kind)

    def provider(self, group: str, name: str) -> Any:
        """What a loaded module registered under *group* and *name*, or None."""
        return self.world.configuration.provider(group, name)

    def loaded(self, module: str) -> bool:
        """Whether a module is loaded, by identifier or source name."""
        return self.world.configuration.loaded(module)

    def phase(self, phase: Phase) -> CompiledPhase:
        """The compiled hooks of *phase*; made at the first request that needs them."""
        found: CompiledPhase = getattr(self, phase.name)
        return found

    def make_hooks(self, phase: Phase) -> list[CompiledHook]:
        """What the hook makers of *phase* have to say under this plan."""
        compiled = (hook.make(self) for hook in self.world.hooks[phase.index])
        return [one for one in compiled if one is not None]


def _is_always_granted(plan: Plan) -> bool:
    """Whether the access phases let everybody in, whatever Satisfy says: host and user are both always granted."""
    if plan.access is not None or plan.dialect.access_in_core:
        return False
    return plan.access_checker.constant == OK and plan.access_checker_ex.constant == OK


_LAZY: Final[dict[str, Callable[[Plan], Any]]] = {
    "core": lambda plan: plan.dir_config(CoreDirConfig),
    "levels": lambda plan: merge_levels(plan.server_core.log_level, plan.core.log_level),
    "locations": lambda plan: plan.world.locations(plan.server_rec),
    "server_core": lambda plan: plan.server_config(CoreServerConfig),
    "satisfies": lambda plan: plan.provider("access", "satisfies"),
    "is_always_granted": _is_always_granted,
}
