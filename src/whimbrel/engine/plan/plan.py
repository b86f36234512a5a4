"""Plans: merged configurations with compiled hooks, shared by all requests to which the same layers apply.

The plans of a server form a tree: `plan.with_layer(layer)` is the plan with one more section or .htaccess
file merged, built at the first request that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.dialect import Dialect
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig, apply_signs, merge_levels
from whimbrel.config.model import WITHOUT_CORE, Layer, Server
from whimbrel.config.origins import ENTIRE, Origin, OriginKey, origin_of
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.engine.plan.compiled_phase import CompiledPhase
from whimbrel.engine.plan.locations import Locations
from whimbrel.registry.module import CompiledHook, Hook
from whimbrel.registry.phases import OK, PHASES, Phase
from whimbrel.registry.settings import merge, with_defaults

S = TypeVar("S")

DEFAULT_BODY_LIMIT: Final = 1 << 30  # default of LimitRequestBody in 2.4; 2.2 has no limit
MAX_WALKS: Final = 2048  # directories with a cached walk, for each plan
_PHASES: Final = {phase.name: phase for phase in PHASES}


class PlanSource(Protocol):
    """The cache that builds plans, as a plan sees it (plan_cache.PlanCache).

    Attributes:
        configuration: the configuration that all its plans belong to.
        dialect: the dialect of that configuration.
        hooks: the hooks of all loaded modules, by the phase's index, in httpd's order.
    """

    configuration: Configuration
    dialect: Dialect
    hooks: dict[int, tuple[Hook, ...]]

    def plan(self, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]) -> Plan:
        """Return a new plan of *records*, the merged records of *server* and *layers*."""

    def locations(self, server: Server) -> Locations:
        """Return the <Location> sections of *server*."""


class Plan:
    """One merged configuration; also the Scope that hook makers receive.

    The hooks of each phase are an attribute with the phase's name, compiled at their first run.

    Attributes:
        layers, records: the layers that were merged; the merged records by type.
        levels: LogLevel of the section over that of the server.
        is_traced: True if these admit the results of the access phases (trace3, 2.4).
        body_limit: LimitRequestBody in bytes, 0 for none.
        satisfies: the provider of that name, or None.
        server_rec: the server.
        is_always_granted: the result of `always_grants`, None before its first call.
        notes: what modules compile for themselves, by their own keys.
        walks: cached directory walks that began with this plan.
    """

    __slots__ = (
        "_filled",
        "is_always_granted",
        "is_traced",
        "_with_layer",
        "access_checker",
        "access_checker_ex",
        "auth_checker",
        "body_limit",
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
        "pre_translate_name",
        "quick_handler",
        "records",
        "satisfies",
        "server_core",
        "server_rec",
        "translate_name",
        "type_checker",
        "walks",
        "cache",
    )
    access: Any = None  # what runs the access phases in the place of process.check_access
    post_read_request: CompiledPhase
    pre_translate_name: CompiledPhase
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
    is_traced: bool
    locations: Locations
    server_core: CoreServerConfig
    satisfies: Callable[[Any], str] | None

    def __init__(
        self, cache: PlanSource, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]
    ) -> None:
        self.cache = cache
        self.server_rec = server
        self.layers = layers
        self.records = records
        self.dialect: Dialect = cache.dialect
        self.notes: dict[Any, Any] = {}  # compiled by modules, by their own keys
        self.walks: BoundedDict[str, Any] = BoundedDict(MAX_WALKS)  # by directory; see walk/cache.py
        self._filled: dict[type[Any], Any] = {}
        self._with_layer: dict[Layer, Plan] = {}
        self.is_always_granted: bool | None = None
        self.core = self.dir_config(CoreDirConfig)
        self.server_core = server.config(CoreServerConfig)
        self.levels = merge_levels(self.server_core.log_level, self.core.log_level)
        self.is_traced = not self.dialect.wire_22 and enabled(self.levels, "core", "trace3")
        self.locations = cache.locations(server)
        self.satisfies = self.provider("access", "satisfies")
        limit = self.core.limit_body
        if limit >= 0:
            self.body_limit = limit
        elif self.dialect.body_limit:
            self.body_limit = DEFAULT_BODY_LIMIT
        else:
            self.body_limit = 0

    if not TYPE_CHECKING:  # the attributes are declared above, and other names are errors

        def __getattr__(self, name: str) -> CompiledPhase:
            """Make the phase of that name at its first use: most plans of a comparison run few phases."""
            phase = _PHASES.get(name)
            if phase is None:
                raise AttributeError(name)
            compiled = CompiledPhase(partial(self.make_hooks, phase), phase.run)
            setattr(self, name, compiled)
            return compiled

    def with_layer(self, layer: Layer) -> Plan:
        """Return this plan with *layer* merged."""
        plan = self._with_layer.get(layer)
        if plan is None:
            records = dict(self.records)
            for kind, over in layer.records.items():
                base = records.get(kind)
                records[kind] = over if base is None else merge(base, over)
            apply_signs(records, layer.records, is_section=layer.kind not in WITHOUT_CORE)
            plan = self.cache.plan(self.server_rec, (*self.layers, layer), records)
            self._with_layer[layer] = plan
        return plan

    def dir_config(self, kind: type[S]) -> S:
        """Return the merged per-directory record of *kind*, defaults filled in."""
        record = self._filled.get(kind)
        if record is None:
            base = self.records.get(kind)
            record = with_defaults(kind() if base is None else base)
            self._filled[kind] = record
        return record

    def server_config(self, kind: type[S]) -> S:
        """Return the per-server record of *kind*, defaults filled in."""
        return self.server_rec.config(kind)

    def origin(self, record: type[Any], field: str, item: Hashable = ENTIRE) -> tuple[Origin, ...]:
        """Return the lines that set a field of a merged record, or an item of it, the outermost first; () for
        a default, and without `LoadOptions.origins`.
        """
        return origin_of(self._holders(), OriginKey(record, field, item))

    def origins(self, record: type[Any]) -> tuple[Origin, ...]:
        """Return all lines that set a field of *record* in one of the merged layers, in file order."""
        found = {
            line
            for holder in self._holders()
            for key, lines in (holder.origins or {}).items()
            if key.record is record
            for line in lines
        }
        return tuple(sorted(found, key=lambda line: (line.place.path, line.place.line)))

    def _holders(self) -> list[Layer | Server]:
        main = self.cache.configuration.main
        server = self.server_rec
        holders: list[Layer | Server] = [main, main.defaults]
        if server is not main:
            holders += [server, server.defaults]
        return [*holders, *self.layers]

    def provider(self, group: str, name: str) -> Any:
        """Return the object that a loaded module registered under *group* and *name*, or None."""
        return self.cache.configuration.provider(group, name)

    def loaded(self, module: str) -> bool:
        """Return True if a module is loaded, by identifier or source name."""
        return self.cache.configuration.loaded(module)

    def phase(self, phase: Phase) -> CompiledPhase:
        """Return the hooks of *phase*."""
        compiled: CompiledPhase = getattr(self, phase.name)
        return compiled

    def make_hooks(self, phase: Phase) -> list[CompiledHook]:
        """Return the compiled hooks that the hook makers of *phase* give for this plan."""
        compiled = (hook.make(self) for hook in self.cache.hooks[phase.index])
        return [one for one in compiled if one is not None]

    def always_grants(self) -> bool:
        """Return True if the access phases admit every request: host and user are always granted."""
        if self.is_always_granted is None:
            self.is_always_granted = (
                self.access is None
                and not self.is_traced
                and not self.dialect.access_in_core
                and self.access_checker.compiled().constant == OK
                and self.access_checker_ex.compiled().constant == OK
            )
        return self.is_always_granted
