"""Plans: one merged configuration with its hooks compiled, shared by all requests that the same layers match.

The plans of a server form a tree: `plan.plus(layer)` is the plan with one more section or .htaccess file laid over it, made at the first
request that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Layer, Server
from whimbrel.dialect import Dialect
from whimbrel.registry.module import Hook, Made, Module, Reads
from whimbrel.registry.phases import PHASES, Phase
from whimbrel.registry.settings import filled, merge

S = TypeVar("S")


class Ready:
    """The compiled hooks of one phase under one plan."""

    __slots__ = ("client", "hooks", "pure")

    def __init__(self, made: Iterable[Made]) -> None:
        hooks = tuple(made)
        reads = Reads.NOTHING
        for one in hooks:
            reads |= one.reads
        self.hooks = tuple((one.fn, one.waits) for one in hooks)
        self.pure = not reads & (Reads.OUTSIDE | Reads.TIME)
        self.client = bool(reads & Reads.CLIENT)


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


class World:
    """What all plans of one configuration share."""

    __slots__ = ("_joined", "configuration", "dialect", "hooks", "roots")

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.dialect = configuration.dialect
        modules = configuration.modules.modules
        self.hooks = {p.index: ordered([(m, h) for m in modules for h in m.hooks if h.phase is p]) for p in PHASES}
        self.roots: dict[int, Plan] = {}
        self._joined: dict[tuple[Layer, Layer], Layer] = {}

    def joined(self, base: Layer | None, over: Layer) -> Layer:
        """*over* laid on *base* as one layer: httpd merges the sections of one walk among themselves before it lays them over the settings."""
        if base is None:
            return over
        found = self._joined.get((base, over))
        if found is None:
            records = dict(base.records)
            for kind, record in over.records.items():
                below = records.get(kind)
                records[kind] = record if below is None else merge(below, record)
            found = self._joined[base, over] = Layer(over.kind, over.place, records)
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

    def forget(self) -> None:
        """Drop every plan: a .htaccess file has changed."""
        self.roots.clear()
        self._joined.clear()


class Plan:
    """One merged configuration; also the Scope that hook makers see."""

    __slots__ = ("_filled", "_plus", "_ready", "dialect", "layers", "notes", "records", "server_rec", "world")
    access: Any = None  # what runs the access phases in the place of process.check_access

    def __init__(self, world: World, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]) -> None:
        self.world, self.server_rec, self.layers, self.records = world, server, layers, records
        self.dialect: Dialect = world.dialect
        self.notes: dict[Any, Any] = {}  # what modules compile for themselves, by their own keys
        self._filled: dict[type[Any], Any] = {}
        self._plus: dict[Layer, Plan] = {}
        self._ready: list[Ready | None] = [None] * len(PHASES)

    def plus(self, layer: Layer) -> Plan:
        """This plan with *layer* laid over it."""
        found = self._plus.get(layer)
        if found is None:
            records = dict(self.records)
            for kind, over in layer.records.items():
                base = records.get(kind)
                records[kind] = over if base is None else merge(base, over)
            found = self._plus[layer] = self.world.plan(self.server_rec, (*self.layers, layer), records)
        return found

    def folder(self, kind: type[S]) -> S:
        """The merged per-directory record of *kind*, defaults filled in."""
        found = self._filled.get(kind)
        if found is None:
            base = self.records.get(kind)
            found = self._filled[kind] = filled(kind() if base is None else base)
        made: S = found
        return made

    def server(self, kind: type[S]) -> S:
        """The per-server record of *kind*, defaults filled in."""
        return self.server_rec.conf(kind)

    def provider(self, group: str, name: str) -> Any:
        """What a loaded module registered under *group* and *name*, or None."""
        return self.world.configuration.provider(group, name)

    def loaded(self, module: str) -> bool:
        """Whether a module is loaded, by identifier or source name."""
        return self.world.configuration.loaded(module)

    def ready(self, phase: Phase) -> Ready:
        """The compiled hooks of *phase*; made at the first request that needs them."""
        found = self._ready[phase.index]
        if found is None:
            made = (hook.make(self) for hook in self.world.hooks[phase.index])
            found = self._ready[phase.index] = Ready(one for one in made if one is not None)
        return found
