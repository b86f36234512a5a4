"""An engine that answers probes: without caches and side effects; it keeps the plan of each access check."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterable
from typing import Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Layer, Server
from whimbrel.engine.deps.files import ASSUMED_DIRECTORY, StatResult
from whimbrel.engine.engine import Engine
from whimbrel.engine.log.error_log import ErrorLog
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.parser_limits import head_limits, head_rules
from whimbrel.engine.pipeline.access import check_access
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.plan.plan_cache import PlanCache
from whimbrel.engine.request import Request
from whimbrel.engine.walk.htaccess import HtaccessResolver
from whimbrel.registry.phases import HookStatus
from whimbrel.verify.probe_runtime import ProbeRuntime
from whimbrel.verify.tls_ports import takes_tls

_STATE: Final = "access checks"
_WAITING: Final = frozenset(
    "mod_cgi.c mod_cgid.c mod_ext_filter.c mod_include.c mod_proxy.c mod_fcgid.c mod_fastcgi.c"
    " mod_authnz_fcgi.c mod_php5.c mod_php7.c mod_php.c mod_wsgi.c".split()
)
"""Modules whose hooks run in an event loop, even where they end at once."""
MAX_FILES: Final = 100_000
"""Looks at files that are remembered."""
MAX_PORTS: Final = 1024
"""Addresses of which it is remembered whether their clients speak TLS."""
_ASSUMED: Final[StatResult] = (
    ASSUMED_DIRECTORY,
    (-1, 1, 1, ASSUMED_DIRECTORY.st_mode, 0, 0),
    0,
)


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """One access check of a probe: *plan* decided about *uri* with the result *status* (0: granted).

    *is_of_error*: the check is about the page of an error, whose status is known before.
    """

    plan: Plan
    status: HookStatus
    method: str
    uri: str
    filename: str
    is_first: bool
    is_of_error: bool = False


def refuses(checks: Iterable[AccessCheck], status: int) -> bool:
    """Return True if one of *checks* gave the request its *status*."""
    return any(check.status == status and not check.is_of_error for check in checks)


class ProbePlan(Plan):
    """A plan that records its access checks."""

    __slots__ = ()

    @staticmethod
    async def access(r: Request) -> HookStatus:
        """Run the access phases and record the result."""
        plan = r.plan
        status = await check_access(r)
        checks: list[AccessCheck] = r.engine.worker_state[_STATE]
        is_of_error = r.prev is not None and r.prev.status >= 400
        checks.append(AccessCheck(plan, status, r.method, r.uri, r.filename or "", r.initial, is_of_error))
        return status


class ProbePlanCache(PlanCache):
    """The plans of a `ProbeEngine`, and the parts of each merged layer."""

    __slots__ = ("parts",)

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self.parts: dict[Layer, tuple[Layer, ...]] = {}

    def plan(self, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]) -> Plan:
        """Return a recording plan."""
        return ProbePlan(self, server, layers, records)

    def merge_layers(self, base: Layer | None, over: Layer) -> Layer:
        """As in PlanCache, remembering the parts."""
        layer = super().merge_layers(base, over)
        if base is not None:
            self.parts[layer] = (*self.parts.get(base, (base,)), over)
        return layer

    def layers_of(self, plan: Plan) -> tuple[Layer, ...]:
        """Return the layers of sections and files that *plan* was merged from, in order."""
        return tuple(part for layer in plan.layers for part in self.parts.get(layer, (layer,)))


class _NoLog(ErrorLog):
    """An error log whose lines about requests are not written; requests remember them."""

    def about_request(self, r: Request, line: LogLine) -> None: ...


class ProbeEngine(Engine):
    """An engine without caches of responses.

    Files are looked at once: what is on disk counts as unchanged while the engine lives.

    Attributes:
        checks: the access checks of the present probe, in their order.
        initial_environment: the variables that each request begins with.
        plan_cache: the class of `probe_plans`.
    """

    initial_environment: tuple[tuple[str, str], ...] = ()
    plan_cache: type[ProbePlanCache] = ProbePlanCache

    def __init__(self, configuration: Configuration, runtime: ProbeRuntime) -> None:
        super().__init__(configuration, runtime)
        self.is_general_only = True
        self.probe_plans = self.plan_cache(configuration)
        self.plans = self.probe_plans
        self.htaccess = HtaccessResolver(configuration, self.plans)
        self.probe_runtime = runtime
        self.error_log = _NoLog(configuration, runtime)
        self.stat_cache.in_tick = True
        server = self.main.config(CoreServerConfig)
        self.limits = head_limits(server)
        self.rules = head_rules(server, configuration)
        self.needs_loop = any(module.source in _WAITING for module in configuration.modules.modules)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._assumed: dict[tuple[bytes, bool], StatResult] = {}
        self._tls_ports: BoundedDict[tuple[str, int], bool] = BoundedDict(MAX_PORTS)
        self.worker_state[_STATE] = []

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of all probes, made when it is first needed; it ends with the engine."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            weakref.finalize(self, self._loop.close)
        return self._loop

    @property
    def checks(self) -> list[AccessCheck]:
        """The access checks of the present probe."""
        checks: list[AccessCheck] = self.worker_state[_STATE]
        return checks

    def takes_tls(self, address: str, port: int) -> bool:
        """Return True if clients of this address of the server speak TLS (`takes_tls`)."""
        known = self._tls_ports.get((address, port))
        if known is None:
            known = takes_tls(self.configuration, address, port)
            self._tls_ports[address, port] = known
        return known

    def assume_directory(self, path: str) -> None:
        """Answer as if *path* and the directories above it existed; those that exist are as they are."""
        while path not in ("", "/"):
            name = to_bytes(path.rstrip("/"))
            if (name, True) in self._assumed or self.configuration.disk.exists(path):
                break
            for key in ((name, True), (name, False), (name + b"/", True), (name + b"/", False)):
                self._assumed[key] = _ASSUMED
                self.stat_cache.known[key] = _ASSUMED
            path = path.rstrip("/").rpartition("/")[0]

    def assume_as(self, other: ProbeEngine) -> None:
        """Let the directories exist that *other* assumes."""
        self._assumed.update(other._assumed)
        self.stat_cache.known.update(other._assumed)

    def is_assumed(self, path: str) -> bool:
        """Return True if *path* is, or lies in, a directory that only `assume_directory` made exist."""
        names = {name for name, _ in self._assumed}
        while path not in ("", "/"):
            if to_bytes(path.rstrip("/")) in names:
                return True
            path = path.rstrip("/").rpartition("/")[0]
        return False

    @property
    def assumed_names(self) -> int:
        """The number of names that only `assume_directory` made exist."""
        return len(self._assumed)

    def forget(self) -> None:
        """Drop what earlier probes have left: plans and what depends on them, walks and looks at files."""
        self.probe_plans.invalidate()
        self.probe_plans.parts.clear()
        self.head_templates.clear()
        self.checks.clear()
        self.limit_files()

    def forget_files(self) -> None:
        """Look at all files anew from here on."""
        self.stat_cache.tick += 1
        self.stat_cache.known = dict(self._assumed)

    def limit_files(self) -> None:
        """Drop the looks at files if there are many."""
        if len(self.stat_cache.known) > MAX_FILES + len(self._assumed):
            self.forget_files()
        if len(self.stat_cache.dependencies) > MAX_FILES:
            self.stat_cache.dependencies.clear()

    async def _process(self, r: Request) -> HookStatus:
        """Run the phases up to the handler with the variables of the probe."""
        if self.initial_environment:
            r.env.update(self.initial_environment)
        return await super()._process(r)
