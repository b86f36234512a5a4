"""All plans of one configuration."""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig, apply_signs
from whimbrel.config.loaded import known_in
from whimbrel.config.model import WITHOUT_CORE, Layer, Server
from whimbrel.config.origins import merged_origins
from whimbrel.engine.plan.compiled_phase import ordered
from whimbrel.engine.plan.locations import Locations
from whimbrel.engine.plan.plan import Plan
from whimbrel.registry.phases import PHASES, PRE_TRANSLATE_NAME
from whimbrel.registry.settings import merge

MAX_HOSTS: Final = 1024  # addresses with host names, whose servers are cached


class PlanCache:
    """The plans of one configuration."""

    __slots__ = (
        "_locations",
        "_merged_layers",
        "by_host",
        "configuration",
        "dialect",
        "has_pre_translate",
        "hooks",
        "roots",
    )

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.dialect = configuration.dialect
        version = configuration.modules.version
        hooks = [
            (m, h) for m in configuration.modules.modules for h in m.hooks if known_in(h.versions, version)
        ]
        self.hooks = {p.index: ordered([(m, h) for m, h in hooks if h.phase is p]) for p in PHASES}
        self.has_pre_translate = bool(self.hooks[PRE_TRANSLATE_NAME.index])
        self.roots: dict[int, Plan] = {}
        # roots of servers; see pipeline/read.py
        self.by_host: BoundedDict[Any, Plan] = BoundedDict(MAX_HOSTS)
        self._merged_layers: dict[tuple[Layer, Layer], Layer] = {}
        self._locations: dict[int, Locations] = {}

    def locations(self, server: Server) -> Locations:
        """Return the <Location> sections of a server; hosts without any share the main server's."""
        entry = self._locations.get(id(server.locations))
        if entry is None:
            entry = Locations(server.locations)
            self._locations[id(server.locations)] = entry
        return entry

    def merge_layers(self, base: Layer | None, over: Layer) -> Layer:
        """Return *over* merged on *base* as one layer.

        httpd merges the sections of one walk with each other before it merges them into the settings.
        """
        if base is None:
            return over
        layer = self._merged_layers.get((base, over))
        if layer is None:
            records = dict(base.records)
            for kind, record in over.records.items():
                below = records.get(kind)
                records[kind] = record if below is None else merge(below, record)
            is_section = over.kind not in WITHOUT_CORE
            apply_signs(records, over.records, is_section=is_section)
            if is_section or base.kind not in WITHOUT_CORE:
                records.setdefault(CoreDirConfig, CoreDirConfig())  # the layer's kind is that of *over* alone
            layer = Layer(over.kind, over.place, records)
            self._merged_layers[base, over] = layer
            if base.origins or over.origins:
                layer.origins = merged_origins(base.origins, over.origins)
        return layer

    def root(self, server: Server) -> Plan:
        """Return the plan of a server's defaults, without sections."""
        plan = self.roots.get(id(server))
        if plan is None:
            plan = self.plan(server, (), server.defaults.records)
            self.roots[id(server)] = plan
        return plan

    def plan(self, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]) -> Plan:
        """Return a plan of this world."""
        return Plan(self, server, layers, records)

    def invalidate(self) -> None:
        """Drop every plan: a .htaccess file has changed."""
        self.roots.clear()
        self.by_host.clear()
        self._merged_layers.clear()
