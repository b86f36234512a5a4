"""Access decisions of the plans of one side as Boolean functions over the atoms of `access`.

A plan is what the engine merged for a request: a chain of sections and .htaccess files as it applies. <If>
sections are opaque atoms: the decision of a plan with them covers every combination of their results. The
name of the file, which a condition may test, is the same for all requests of a plan.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from whimbrel.access.atoms import Opaque
from whimbrel.access.decide import decide_plan
from whimbrel.access.decision import AccessDecision, AccessVerdict, Undecided
from whimbrel.access.environment import AccessEnvironment, ModuleSettings
from whimbrel.access.file_conditions import is_file_condition
from whimbrel.access.layers import ALIASES, AccessLayer, AccessLine, lines_of_nodes
from whimbrel.access.query import AccessQuery
from whimbrel.access.space import Space
from whimbrel.base.errors import ConfigError
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.load import DeepRecursion
from whimbrel.config.model import Layer, Section, SectionKind
from whimbrel.engine.plan.plan import Plan
from whimbrel.modules.support.auth.auth_files import Passwords, parse_groups
from whimbrel.modules.support.dbm.open import DbmFile, DbmUnreadable
from whimbrel.registry.methods import INVALID
from whimbrel.registry.settings import UNSET
from whimbrel.verify.probe_engine import ProbePlanCache
from whimbrel.verify.side import Side

_MAX_IFS: Final = 5
"""The maximum number of <If> sections of one plan: each doubles the number of plans to decide."""
_MAX_FILE: Final = 1 << 24
"""Bytes of a password file that are read; longer ones are told apart by their paths."""
_IFS: Final = frozenset((SectionKind.IF, SectionKind.ELSE_IF, SectionKind.ELSE))


class PlanDecisions:
    """The decisions of the plans of one side, each computed once; those of one *space* can be compared."""

    def __init__(self, side: Side, space: Space) -> None:
        self.side = side
        self.space = space
        self._decisions: dict[int, tuple[Plan, AccessDecision | str]] = {}
        self._files: dict[tuple[str, str], str] = {}
        self._lines: dict[tuple[str, int], tuple[AccessLine, ...]] = {}
        self.environment = AccessEnvironment(
            modules=tuple(module.name for module in side.loaded.modules.modules),
            root=side.loaded.root,
            readable=self._is_readable,
            identity=self._identity,
            group_identity=self._group_identity,
            dbm_identity=self._dbm_identity,
            aliases=tuple(self._aliases()),
        )
        self.settings = self._settings()

    def decision(self, plan: Plan) -> AccessDecision | str:
        """Return the decision of *plan*, or the reason why it is not known."""
        known = self._decisions.get(id(plan))
        if known is None:
            try:
                with DeepRecursion():
                    decision: AccessDecision | str = self._decide(plan)
            except Undecided as reason:
                decision = str(reason)
            except ConfigError as problem:
                decision = problem.reason
            known = (plan, decision)
            self._decisions[id(plan)] = known
        return known[1]

    def forget(self) -> None:
        """Drop all decisions."""
        self._decisions.clear()

    def query(self, plan: Plan) -> AccessQuery:
        """Return the query about *plan*."""
        chain = [self._access_layer(layer) for layer in _layers_of(plan)]
        return AccessQuery(self.space, self.environment, self.settings, plan, chain, INVALID)

    # <If> -------------------------------------------------------------------------------------------
    def _decide(self, plan: Plan) -> AccessDecision:
        base = _without_ifs(plan)
        sections = base.core.ifs
        if not sections:
            return decide_plan(self.query(plan))
        if sum(not is_file_condition(section.condition) for section in sections) > _MAX_IFS:
            raise Undecided(f"{len(sections)} <If> sections apply")
        if any(_has_nested(section) for section in sections):
            raise Undecided("<If> sections are nested")
        return self._branch(base, list(sections), [], False, _layers_of(plan))

    def _branch(
        self,
        base: Plan,
        left: list[Section],
        taken: list[Layer],
        is_done: bool,
        walked: tuple[Layer, ...],
    ) -> AccessDecision:
        """Return the decision for all results of the conditions of *left*.

        *is_done*: an earlier section of the chain applies. A condition on the name of the file is true if its
        section is among *walked*, the layers of the plan: all requests of the plan have that result.
        """
        if not left:
            return decide_plan(self.query(_with_layers(base, taken)))
        section = left[0]
        rest = left[1:]
        if section.kind is not SectionKind.IF and is_done:
            return self._branch(base, rest, taken, True, walked)
        is_fixed = is_file_condition(section.condition)
        if is_fixed and section.layer not in walked:
            return self._branch(base, rest, taken, False, walked)
        inside = self._branch(base, rest, [*taken, section.layer], True, walked)
        if section.test is None or is_fixed:
            return inside
        otherwise = self._branch(base, rest, taken, False, walked)
        test = self.space.variable(Opaque(f"if {section.condition}"))
        return AccessDecision(
            self.space,
            {
                verdict: self.space.choose(test, inside.when[verdict], otherwise.when[verdict])
                for verdict in AccessVerdict
            },
            inside.name,
        )

    # surroundings -----------------------------------------------------------------------------------
    def _settings(self) -> ModuleSettings:
        """Return the modules of the side: its own configuration and plans, with the aliases of its text."""
        settings = copy.copy(self.environment.settings(self.side.dialect))
        settings.configuration = self.side.loaded
        settings.plans = self.side.probing.plans
        return settings

    def _aliases(self) -> list[AccessLine]:
        found: list[AccessLine] = []
        self.side.each_node(
            lambda node: (
                found.extend(lines_of_nodes([node]))
                if node.name.lower().removeprefix("<") in ALIASES
                else self._note(node)
            )
        )
        return found

    def _note(self, node: Any) -> None:
        """Remember the lines of a section by its location."""
        if node.name.startswith("<") and node.children:
            self._lines[node.place.path, node.place.line] = lines_of_nodes(
                child for child in node.children if not child.name.startswith("<")
            )

    def _access_layer(self, layer: Layer) -> AccessLayer:
        place = layer.place
        if place is None:
            return AccessLayer((), layer.kind)
        lines = self._lines.get((place.path, place.line), ())
        if layer.kind is SectionKind.HTACCESS:
            lines = (AccessLine("authfile", self._identity(place.path)),)
        return AccessLayer(lines, layer.kind, place=place)

    def _identity(self, path: str) -> str:
        """Return a digest of the users that the dialect reads in the file, its path if it cannot be read."""
        return self._digest_of(path, self._users)

    def _group_identity(self, path: str) -> str:
        """Return a digest of the groups that the dialect reads in the file, its path if it cannot be read."""
        return self._digest_of(path, self._members)

    def _dbm_identity(self, path: str, kind: str) -> str:
        """Return a digest of the entries of a DBM file, its path if it cannot be read."""
        key = path, f"dbm {kind}"
        name = self._files.get(key)
        if name is None:
            name = path
            try:
                entries = DbmFile(self.side.loaded.disk.on_disk(path), kind).entries()
            except DbmUnreadable:
                pass
            else:
                digest = hashlib.sha256(repr(sorted(entries.items())).encode()).hexdigest()[:16]
                name = f"{os.path.basename(path)} {digest}"
            self._files[key] = name
        return name

    def _digest_of(self, path: str, entries: Callable[[str], object]) -> str:
        """Return a digest of *entries* of the text at *path*, of the bytes of a binary file."""
        key = path, entries.__name__
        name = self._files.get(key)
        if name is None:
            try:
                data = read_start(to_bytes(self.side.loaded.disk.on_disk(path)), _MAX_FILE)
                content = data if b"\0" in data else repr(entries(to_text(data))).encode()
                digest = hashlib.sha256(content).hexdigest()[:16]
                name = f"{os.path.basename(path)} {digest}" if len(data) < _MAX_FILE else path
            except OSError:
                name = path
            self._files[key] = name
        return name

    def _is_readable(self, path: str) -> bool:
        place = to_bytes(self.side.loaded.disk.on_disk(path))
        return os.path.isfile(place) and os.access(place, os.R_OK)

    def _users(self, text: str) -> object:
        """Return the users in a password file, in order of their names."""
        users = Passwords(text, continued=self.side.dialect.overlong_line_is_eof)
        return sorted(users.stored.items()), sorted(users.realms.items())

    def _members(self, text: str) -> object:
        """Return the users in a group file with their groups, in order of their names."""
        groups = parse_groups(text, continued=self.side.dialect.overlong_line_is_eof)
        return sorted((user, sorted(names)) for user, names in groups.items())


def _layers_of(plan: Plan) -> tuple[Layer, ...]:
    """Return the layers of the sections and files that *plan* was merged from, in order."""
    plans: Any = plan.cache
    return plans.layers_of(plan) if isinstance(plans, ProbePlanCache) else plan.layers


def _without_ifs(plan: Plan) -> Plan:
    """Return *plan* without the settings of its <If> sections."""
    if not any(layer.kind in _IFS for layer in plan.layers):
        return plan
    base = plan.cache.plan(plan.server_rec, (), plan.server_rec.defaults.records)
    for layer in plan.layers:
        if layer.kind not in _IFS:
            base = base.with_layer(layer)
    return base


def _with_layers(base: Plan, layers: Sequence[Layer]) -> Plan:
    plans: Any = base.cache
    joined: Layer | None = None
    for layer in layers:
        joined = plans.merge_layers(joined, layer)
    return base if joined is None else base.with_layer(joined)


def _has_nested(section: Section) -> bool:
    inner = section.layer.records.get(CoreDirConfig)
    return inner is not None and inner.ifs is not UNSET and bool(inner.ifs)
