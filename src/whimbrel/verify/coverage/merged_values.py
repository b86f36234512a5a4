"""Comparison of the settings of differing lines, after merging and with the defaults of each version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from whimbrel.base.dialect import Dialect
from whimbrel.config.core_config import OPT_UNSET, CoreDirConfig, CoreServerConfig
from whimbrel.config.htaccess import override_of
from whimbrel.config.loaded import BoundDirective
from whimbrel.config.model import Layer, Server, ServerSpec
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.config.origins import ENTIRE, OriginKey
from whimbrel.engine.plan.plan import DEFAULT_BODY_LIMIT, Plan
from whimbrel.modules.http.etag import default_bits
from whimbrel.modules.mappers.mod_dir import DirDirConfig
from whimbrel.registry.settings import UNSET, field_names
from whimbrel.verify.config_lines import ConfigLine
from whimbrel.verify.coverage.setter_fields import names_in
from whimbrel.verify.coverage.values import ValueForms
from whimbrel.verify.probe_engine import ProbePlanCache
from whimbrel.verify.side import Side

Setting = tuple[Any, str]
"""A record type and a field of it; "" for the whole record."""
PlanPair = tuple[Plan, Plan]
_OF_SERVER: Final = frozenset(("servername", "serveralias", "serverpath", "httpprotocoloptions"))
"""Directives that set fields of `Server`, or several fields by a table."""
_OF_PROCESS: Final[dict[str, Setting]] = {
    "listen": (ServerSpec, "listeners"),
    "user": (MpmConfig, "user"),
    "group": (MpmConfig, "group"),
    "regexdefaultoptions": (MpmConfig, "regex_options"),
    "seerequesttail": (MpmConfig, "see_request_tail"),
    "suexec": (MpmConfig, "suexec"),
    "chrootdir": (MpmConfig, "chroot"),
    "gracefulshutdowntimeout": (MpmConfig, "graceful_timeout"),
}
"""Directives that set a field of a record which no module has for itself."""
_UNORDERED: Final = frozenset(("names", "wild_names"))
"""Fields of a server whose order is of no importance."""
_CORE: Final = frozenset((CoreDirConfig, CoreServerConfig))
"""Records whose lines do not change what other lines set."""
_SECTIONS: Final = frozenset(("files", "ifs"))
"""Fields of the core whose values are sections: their lines count for themselves."""


class MergedValues:
    """Compares settings of pairs of plans; forms are computed once for each record until `forget`.

    *places*: file and line of all differing lines.
    """

    def __init__(
        self,
        sides: tuple[Side, Side],
        forms: tuple[ValueForms, ValueForms],
        places: frozenset[tuple[str, int]],
    ) -> None:
        self.sides = sides
        self.forms = forms
        self.places = places
        old, new = sides
        has_origins = old.options.origins and new.options.origins
        self._has_two_versions = old.dialect is not new.dialect and has_origins
        self._server_kinds = {
            module.server_config for side in sides for module in side.loaded.modules.modules
        } - {None}
        self._forms: dict[tuple[int, int, str], tuple[Any, object]] = {}
        self._origins: dict[int, tuple[Any, dict[tuple[str, int], set[Setting]]]] = {}
        self._by_pair: dict[tuple[int, int], tuple[PlanPair, set[Setting], set[Setting]]] = {}
        self._named: dict[tuple[int, str], bool] = {}

    def forget(self) -> None:
        """Drop the forms and what they belong to."""
        self._forms.clear()
        self._origins.clear()
        self._by_pair.clear()

    def differing(self, number: int, line: ConfigLine, plans: PlanPair) -> list[Setting]:
        """Return the settings that *line* of side *number* sets and that differ between *plans*."""
        found = [one for one in self._settings(number, line, plans) if self._differs(one, plans)]
        return found or self._unexplained(number, line, plans)

    def is_recorded(self, number: int, line: ConfigLine, plans: PlanPair) -> bool:
        """Return True if *line* of side *number* sets what `differing` compares; no record of a module
        shows what the others do."""
        key = number, line.name
        is_named = self._named.get(key)
        if is_named is None:
            is_named = (
                line.name in _OF_PROCESS or line.name in _OF_SERVER or self._names_setting(number, line)
            )
            self._named[key] = is_named
        place = line.path, line.line
        return is_named or any(
            place in self._origins_of(holder) for holder in self._origin_holders(number, plans[number])
        )

    def _names_setting(self, number: int, line: ConfigLine) -> bool:
        """Return True if a setter of the directive names a field of a record of its module."""
        for row in self._rows(number, line):
            names = names_in(row.apply)
            kinds: tuple[Any, ...] = (row.module.dir_config, row.module.server_config)
            for kind in kinds:
                fields = () if kind is None else field_names(kind) or names
                if not names.isdisjoint(fields):
                    return True
        return False

    def _unexplained(self, number: int, line: ConfigLine, plans: PlanPair) -> list[Setting]:
        """Return settings of the modules of *line* that differ although no differing line sets them.

        RewriteCond, for example, changes what the next RewriteRule sets.
        """
        written, explained = self._written(plans)
        return [
            setting
            for setting in self._settings_of_modules(number, line)
            if setting[0] not in _CORE
            and setting in written
            and setting not in explained
            and self._differs(setting, plans)
        ]

    def _written(self, plans: PlanPair) -> tuple[set[Setting], set[Setting]]:
        """Return the settings that lines set under *plans*, and those that differing lines set."""
        key = id(plans[0]), id(plans[1])
        known = self._by_pair.get(key)
        if known is None:
            written: set[Setting] = set()
            explained: set[Setting] = set()
            for number, plan in enumerate(plans):
                for holder in self._origin_holders(number, plan):
                    for place, settings in self._origins_of(holder).items():
                        written |= settings
                        if place in self.places:
                            explained |= settings
            known = (plans, written, explained)
            self._by_pair[key] = known
        return known[1:]

    def _differs(self, setting: Setting, plans: PlanPair) -> bool:
        return self._form(0, plans[0], setting) != self._form(1, plans[1], setting)

    def _form(self, number: int, plan: Plan, setting: Setting) -> object:
        kind, name = setting
        holders = self._holders(number, plan, kind)
        return tuple(self._form_of(number, holder, name) for holder in holders)

    def _form_of(self, number: int, record: object, name: str) -> object:
        key = (number, id(record), name)
        known = self._forms.get(key)
        if known is None:
            value = self._effective(number, record, name)
            known = (record, self.forms[number].form(value))
            self._forms[key] = known
        return known[1]

    def _effective(self, number: int, record: object, name: str) -> Any:
        """Return the value of a field, with what the version takes for a value that is not set."""
        value: Any = getattr(record, name) if name else record
        if isinstance(record, Server) and name in _UNORDERED:
            return frozenset(value)
        if isinstance(record, DirDirConfig) and name == "names" and value not in (None, UNSET):
            return list(dict.fromkeys(value))  # a name that is tried again is not there again
        if isinstance(record, CoreDirConfig):
            configuration = self.sides[number].loaded
            if name == "etag":
                return value.value or default_bits(configuration.dialect)
            if name == "limit_body":
                return _body_limit(value, configuration.dialect)
            if name == "options":
                return value.value & ~OPT_UNSET
            if name == "override":
                return override_of(configuration, record)
        return value

    def _holders(self, number: int, plan: Plan, kind: Any) -> tuple[Any, ...]:
        configuration = self.sides[number].loaded
        if kind is Server:
            return (plan.server_rec,)
        if kind is ServerSpec:
            return (configuration.spec,)
        if kind is MpmConfig:
            return (configuration.main.config(kind),)
        if kind in self._server_kinds:
            return (plan.server_config(kind), configuration.main.config(kind))
        return (plan.dir_config(kind),)

    # the settings of a line ---------------------------------------------------------------------------
    def _settings(self, number: int, line: ConfigLine, plans: PlanPair) -> Iterable[Setting]:
        """Return what *line* sets; all settings of its modules if that is not recorded.

        Between versions settings that no line sets are left out then, unless the setter names them: their
        defaults differ.
        """
        of_process = _OF_PROCESS.get(line.name)
        if of_process is not None:
            return [of_process]
        found: set[Setting] = set()
        for holder in self._origin_holders(number, plans[number]):
            found |= self._origins_of(holder).get((line.path, line.line), set())
        if found:
            return found
        every = self._settings_of_modules(number, line)
        if not self._has_two_versions:
            return every
        names = frozenset[str]().union(*(names_in(row.apply) for row in self._rows(number, line)))
        written, _ = self._written(plans)
        return [one for one in every if one[1] in names or (one in written and one[0] not in _CORE)]

    def _rows(self, number: int, line: ConfigLine) -> Iterable[BoundDirective]:
        modules = self.sides[number].loaded.modules
        return modules.rows(line.name) or modules.rows("<" + line.name) or ()

    def _settings_of_modules(self, number: int, line: ConfigLine) -> list[Setting]:
        kinds: dict[Any, None] = {}
        for row in self._rows(number, line):
            kinds.update(dict.fromkeys((row.module.dir_config, row.module.server_config)))
        kinds.pop(None, None)
        return [
            (kind, name) for kind in kinds for name in (field_names(kind) or ("",)) if name not in _SECTIONS
        ]

    def _origin_holders(self, number: int, plan: Plan) -> Iterator[Layer | Server]:
        main = self.sides[number].loaded.main
        server = plan.server_rec
        cache = plan.cache
        yield from (main, main.defaults)
        if server is not main:
            yield from (server, server.defaults)
        yield from cache.layers_of(plan) if isinstance(cache, ProbePlanCache) else plan.layers

    def _origins_of(self, holder: Layer | Server) -> dict[tuple[str, int], set[Setting]]:
        """Return the settings by the line that set them."""
        known = self._origins.get(id(holder))
        if known is None:
            found: dict[tuple[str, int], set[Setting]] = {}
            origins: dict[OriginKey, Any] = holder.origins or {}
            for key, lines in origins.items():
                for origin in lines if key.item is ENTIRE else ():
                    place = origin.place.path, origin.place.line
                    found.setdefault(place, set()).add((key.record, key.field))
            known = (holder, found)
            self._origins[id(holder)] = known
        return known[1]


def _body_limit(value: int, dialect: Dialect) -> int:
    """Return LimitRequestBody, 0 for no limit; 2.4 has one by default."""
    if value >= 0:
        return value
    return DEFAULT_BODY_LIMIT if dialect.body_limit else 0
