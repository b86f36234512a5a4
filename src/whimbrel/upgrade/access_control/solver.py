"""Which form each section takes, so that every chain decides under 2.4 what it decided under 2.2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from whimbrel.access.decide import AccessEnvironment
from whimbrel.access.decision import AccessDecision, AccessVerdict, Counterexample
from whimbrel.access.layers import AccessLayer, AccessLine
from whimbrel.base.dialect import V22, V24
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control import compat, native
from whimbrel.upgrade.access_control.chains import SectionChain
from whimbrel.upgrade.access_control.decision_cache import DecisionCache
from whimbrel.upgrade.access_control.effective import CONTROL, GONE, RECORD, has_directive
from whimbrel.upgrade.access_control.guards import FORMS, is_guard
from whimbrel.upgrade.access_control.modules import implied
from whimbrel.upgrade.access_control.replacement import (
    Lines,
    Repetition,
    Replacement,
    can_hold,
    can_repeat,
    group_by_directory,
    merge_order,
    prefix_of,
)
from whimbrel.upgrade.access_control.sections import AccessSection, is_24_only
from whimbrel.upgrade.source.config_tree import ReportProgress, no_progress
from whimbrel.upgrade.source.overrides import Override, admits

_ROUNDS: Final = 3
_DEFAULT_MODULES_22: Final = (
    "authn_file",
    "authn_default",
    "authz_host",
    "authz_groupfile",
    "authz_user",
    "authz_default",
    "auth_basic",
)
"""What a 2.2 without LoadModule lines has built in."""
_GRANTED: Final = AccessLine("require", "all granted")
_DENIED: Final = (AccessLine("satisfy", "Any"), AccessLine("require", "all denied"))
_BASES: Final[tuple[Lines, ...]] = ((), (_GRANTED,), _DENIED)
"""What sections that keep Order, Allow and Deny say besides where no Require is in force: nothing; what an AuthType further in needs; what a
Satisfy Any further in needs."""
_MAX_POSSIBLE: Final = 8
_MAX_REPLACEMENTS: Final = 60
_MAX_FURTHER: Final = 12
"""How many further forms are looked at when one is right for all requests that are sure to come."""
_NEUTRAL: Final = (AccessLine("order", "deny,allow"),)
_LIMIT: Final = RECORD
_AUTHCONFIG: Final = frozenset(
    {"satisfy", "require", "requireall", "requireany", "requirenone", "authmerging"}
)


@dataclass(slots=True, eq=False)
class SectionPlan:
    """What a section becomes: *control* are its lines about who gets in; *failing* are the chains that decide otherwise all the same."""

    replacement: Replacement
    failing: list[tuple[SectionChain, Counterexample | None]] = field(default_factory=list)
    possible: list[tuple[SectionChain, Counterexample | None]] = field(default_factory=list)

    @property
    def control(self) -> Lines:
        """The section's own lines about who gets in."""
        return self.replacement.control


class Solver:
    """One estate's chains, and the decisions about them.

    *solved* are the sections that get a form, *units* these and all others; *chains* hold none but solved ones.  *area* is a section around fragments
    that stays as it is.  *has_alias*: there is a place for the container that says what `native.BROKEN` means.
    """

    def __init__(
        self,
        sections: Sequence[AccessSection],
        solved: Sequence[AccessSection],
        chains: Sequence[SectionChain],
        modules: Sequence[str],
        root: str,
        readable: Callable[[str], bool | None] = lambda _path: None,
        *,
        compat_first: bool = False,
        area: AccessSection | None = None,
        has_alias: bool = True,
        step: ReportProgress = no_progress,
    ) -> None:
        self.step, self._has_alias = step, has_alias
        self.sections, self.compat_first, self.chains = (
            [section for section in solved if section.access_lines],
            compat_first,
            chains,
        )
        self.nested: dict[AccessSection, list[AccessSection]] = {}
        for section in solved:
            if section.outer is not None and section.in_htaccess:
                self.nested.setdefault(section.outer, []).append(section)
        implied_modules = implied(section.access_lines for section in sections)
        self.modules_22 = (
            tuple(modules)
            if any("auth" in name for name in modules)
            else tuple(dict.fromkeys([*modules, *_DEFAULT_MODULES_22, *implied_modules]))
        )
        self.decisions = DecisionCache(
            AccessEnvironment(modules=self.modules_22, root=root, readable=readable),
            AccessEnvironment(
                modules=_modules_24([*modules, *implied_modules]),
                root=root,
                readable=readable,
                aliases=(native.ALIAS,),
            ),
        )
        self.removed_names = GONE | (
            {"authbasicauthoritative"}
            if {"authn_default", "authn_default_module"} & set(self.modules_22)
            else frozenset()
        )
        self.lines = {section: section.access_lines for section in sections}
        self.unchanged_lines = {
            section: tuple(_unchanged_lines(self.lines[section], self.removed_names)) for section in sections
        }
        self.control_lines = {
            section: tuple(line for line in self.lines[section] if line.name in CONTROL)
            for section in sections
        }
        self.guards = frozenset(section for section in solved if is_guard(section))
        self._decisions_22: dict[SectionChain, AccessDecision | None] = {}
        self._proposed: dict[tuple[object, ...], tuple[Lines, ...]] = {}
        self.overrides = _overrides(chains)
        self.chains_by_end = self._chains_by_end()
        self._outer = {
            unit: list(dict.fromkeys(u for chain in ends for u in chain.sections[:-1]))
            for unit, ends in self.chains_by_end.items()
        }
        self._tried: dict[tuple[AccessSection, Lines | None, tuple[Replacement, ...]], SectionPlan] = {}
        self._last: dict[tuple[AccessSection, Lines | None], SectionPlan] = {}
        self.area = area
        self.failing_sections = frozenset([*self._failing_sections(), *([] if area is None else [area])])

    # decisions --------------------------------------------------------------------------------------
    def decide_22(self, chain: SectionChain) -> AccessDecision | None:
        """What the new text shall decide: what 2.2 did, but nobody is let in where the chain ends with a guard."""
        before = self.before_22(chain)
        if chain.last not in self.guards or (
            before is not None and before.when[AccessVerdict.ERROR] == self.decisions.space.true
        ):
            return before
        return self.decisions.forbidden(V22.name)

    def before_22(self, chain: SectionChain) -> AccessDecision | None:
        """What 2.2 decides; None where that can't be said."""
        if chain not in self._decisions_22:
            if any(
                is_refused(self.lines[part], override)
                for unit, override in chain.overrides
                for part in self._with_nested(unit)
            ):
                self._decisions_22[chain] = self.decisions.error(V22.name)
            else:
                self._decisions_22[chain] = self.decisions.decision(
                    V22.name, [self._layer_of(unit, self.lines[unit]) for unit in chain.sections]
                )
        return self._decisions_22[chain]

    def decide_24(
        self, chain: SectionChain, replacements: Mapping[AccessSection, Replacement]
    ) -> AccessDecision | None:
        """What 2.4 decides with *forms*; None where it doesn't start."""
        if self._refused(chain, replacements):
            return self.decisions.error(V24.name)
        return self.decisions.decision(
            V24.name, [self._layer(*entry) for entry in merge_order(chain, replacements)]
        )

    def _layer(self, section: AccessSection, control: Lines, repeated: bool) -> AccessLayer:
        if repeated:
            return self._layer_of(section, control)
        return self._layer_of(
            section,
            self.lines[section]
            if section in self.failing_sections
            else self.unchanged_lines[section] + control,
        )

    def _layer_of(self, section: AccessSection, lines: Lines) -> AccessLayer:
        return self.decisions.layer(section.kind, section.in_htaccess, lines)

    def _failing_sections(self) -> Iterator[AccessSection]:
        """The .htaccess files, with all sections in them, that end every request with 500 under 2.2: they stay as they are."""
        for section, overrides in self.overrides.items():
            parts = list(self._with_nested(section))
            broken = any(self._is_broken(self._layer_of(part, self.lines[part])) for part in parts)
            if broken or all(
                any(is_refused(self.lines[part], override) for part in parts) for override in overrides
            ):
                yield from parts

    def _is_broken(self, layer: AccessLayer) -> bool:
        decision = self.decisions.decision(V22.name, [layer])
        return (
            decision is not None
            and decision.when[AccessVerdict.ERROR] == self.decisions.space.true
            and self.decisions.is_unreadable_22(layer)
        )

    def _refused(self, chain: SectionChain, replacements: Mapping[AccessSection, Replacement]) -> bool:
        """Whether a .htaccess file ends the request with 500 because AllowOverride doesn't admit one of its lines."""
        return any(
            is_refused(
                (
                    *self.unchanged_lines[part],
                    *(replacements[part].control if part in replacements else self.control_lines[part]),
                ),
                override,
            )
            for section, override in chain.overrides
            for part in self._with_nested(section)
        )

    def _with_nested(self, section: AccessSection) -> Iterator[AccessSection]:
        """A .htaccess file with the sections in it."""
        yield section
        for inner in self.nested.get(section, ()):
            yield from self._with_nested(inner)

    # order ------------------------------------------------------------------------------------------
    def _chains_by_end(self) -> dict[AccessSection, list[SectionChain]]:
        """The chains that end with each section; where none does, what leads up to it."""
        ends: dict[AccessSection, list[SectionChain]] = {section: [] for section in self.sections}
        for chain in self.chains:
            ends[chain.last].append(chain)
        seen: set[tuple[AccessSection, ...]] = set()
        for chain in self.chains:
            for at, section in enumerate(chain.sections[:-1]):
                chains_found = ends[section]
                sections = chain.sections[: at + 1]
                if (not chains_found or chains_found[0].url == "(prefix)") and sections not in seen:
                    seen.add(sections)
                    chains_found.append(
                        SectionChain(
                            sections,
                            "(prefix)",
                            chain.path,
                            False,
                            tuple((u, o) for u, o in chain.overrides if u in sections),
                        )
                    )
        return ends

    def ordered(self) -> list[AccessSection]:
        """The sections, each behind all that can stand before it in a chain."""
        before: dict[AccessSection, dict[AccessSection, None]] = {section: {} for section in self.sections}
        for chain in self.chains:
            for first, second in zip(chain.sections, chain.sections[1:], strict=False):
                before[second][first] = None
        done: dict[AccessSection, None] = {}
        for section in self.sections:
            _visit(section, before, done, set())
        return list(done)

    # search -----------------------------------------------------------------------------------------
    def solve(self) -> dict[AccessSection, SectionPlan]:
        """A form for every section."""
        forced: set[AccessSection] = set(self.sections) if self.compat_first else set()
        best: dict[AccessSection, SectionPlan] = {}
        order = self.ordered()
        for base in _BASES:
            for _ in range(_ROUNDS):
                plans = self._attempt(order, forced, base)
                if not best or _failures(plans) < _failures(best):
                    best = plans
                more = {
                    u for written in plans.values() for chain, _ in written.failing for u in chain.sections
                } - forced
                if not more:
                    break
                forced |= more
            if not _failures(best):
                break
        return best

    def _attempt(
        self, order: list[AccessSection], forced: set[AccessSection], base: Lines
    ) -> dict[AccessSection, SectionPlan]:
        replacements: dict[AccessSection, Replacement] = {}
        plans: dict[AccessSection, SectionPlan] = {}
        for number, section in enumerate(order):
            self.step("what sections become", number, len(order))
            under = base if section in forced else None
            key = (section, under, tuple(replacements[outer] for outer in self._outer[section]))
            if key not in self._tried:
                self._tried[key] = self._reuse_last_plan(section, replacements, under) or self._unambiguous(
                    section, self._best_plan(section, replacements, under), replacements
                )
                self._last[section, under] = self._tried[key]
            plans[section] = self._tried[key]
            replacements[section] = plans[section].replacement
        return plans

    def _reuse_last_plan(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> SectionPlan | None:
        """What was found for the section before, where it is right under other outer sections too."""
        last_plan = self._last.get((section, base))
        if last_plan is None or last_plan.failing:
            return None
        plan = self._evaluate(section, last_plan.replacement, replacements, None)
        return (
            plan
            if plan is not None and not plan.failing and len(plan.possible) <= len(last_plan.possible)
            else None
        )

    def _unambiguous(
        self, section: AccessSection, plan: SectionPlan, replacements: dict[AccessSection, Replacement]
    ) -> SectionPlan:
        """*written* in words that can't be taken for those of 2.2: text that 2.2 would read otherwise shows that it is 2.4's."""
        control = plan.control
        if (
            plan.failing
            or section in self.failing_sections
            or any(is_24_only(line) for line in control)
            or not has_directive(control, {"require"})
        ):
            return plan
        for chain in self.chains_by_end[section]:
            texts = [
                self.unchanged_lines[u] + (control if u is section else replacements[u].control)
                for u in chain.sections
            ]
            if any(is_24_only(line) for text in texts for line in text):
                continue
            decision_22 = self.decisions.decision(
                V22.name, [self._layer_of(u, text) for u, text in zip(chain.sections, texts, strict=True)]
            )
            before = self.before_22(chain)
            if (
                decision_22 is not None
                and before is not None
                and self.decisions.difference(decision_22, before) is not None
            ):
                return SectionPlan(
                    Replacement(_in_container(control), plan.replacement.repeats), plan.failing, plan.possible
                )
        return plan

    def _best_plan(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> SectionPlan:
        best: SectionPlan | None = None
        more = _MAX_FURTHER
        for replacement in self._proposals(section, replacements, base):
            if best is not None and not best.failing:
                more -= 1
                if not more:
                    break
            plan = self._evaluate(section, replacement, replacements, best)
            if plan is None:
                continue
            if not plan.failing and (not plan.possible or section.is_page):
                return plan
            if best is None or _weight(plan) < _weight(best):
                best = plan
        return best or SectionPlan(
            Replacement(self.control_lines[section]), [(chain, None) for chain in self.chains_by_end[section]]
        )

    def _proposals(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> Iterator[Replacement]:
        seen: set[Lines] = set()
        for control in self._candidates(section, replacements, base):
            if control not in seen:
                seen.add(control)
                yield Replacement(control)
            if len(seen) == _MAX_REPLACEMENTS:
                break
        if section not in self.failing_sections and can_repeat(section) and section in self.lines:
            yield from self._repeated(section, replacements)

    def _repeated(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement]
    ) -> Iterator[Replacement]:
        """The section with its own decision for each folder that it decides differently in.

        A repetition is read whatever the conditions around the folder's own section are, so there is none under conditions.
        """
        if any(chain.given for chain in self.chains_by_end[section]):
            return
        groups = group_by_directory(
            section,
            [chain for chain in self.chains_by_end[section] if chain.is_certain]
            or self.chains_by_end[section],
        )
        if len(groups) < 2:
            return
        replacement: Replacement | None = None
        for holder, chains in groups:
            found = self._for_group(section, holder, chains, replacement, replacements)
            if found is None:
                return
            replacement = found
        if replacement is not None and replacement.repeats:
            yield replacement

    def _for_group(
        self,
        section: AccessSection,
        holder: AccessSection | None,
        chains: list[SectionChain],
        replacement: Replacement | None,
        replacements: dict[AccessSection, Replacement],
    ) -> Replacement | None:
        """*form* as it is where it is right for *chains* too, else with what is right for them."""
        if replacement is not None and self._is_right(section, replacement, replacements, chains):
            return replacement
        proposals_by_chain = (
            self._forms(native.propose, [self.lines[u] for u in chain.sections]) for chain in chains
        )
        for control in dict.fromkeys(lines for proposed in proposals_by_chain for lines in proposed):
            for lines in (control, (*_NEUTRAL, *control)):
                if replacement is None:
                    candidate: Replacement | None = Replacement(lines)
                else:
                    prefix = prefix_of(section, holder, chains[0]) if holder is not None else None
                    if (
                        holder is None
                        or prefix is None
                        or not can_hold(holder, section)
                        or not self._is_admitted(holder, lines)
                    ):
                        return None
                    candidate = Replacement(
                        replacement.control, (*replacement.repeats, Repetition(holder, lines, prefix))
                    )
                if candidate is not None and self._is_right(section, candidate, replacements, chains):
                    return candidate
        return None

    def _is_right(
        self,
        section: AccessSection,
        replacement: Replacement,
        replacements: dict[AccessSection, Replacement],
        chains: Iterable[SectionChain],
    ) -> bool:
        """Whether all *chains* decide as before."""
        with _with_replacement(replacements, section, replacement):
            return not any(self.differs(chain, replacements)[0] for chain in chains)

    def _evaluate(
        self,
        section: AccessSection,
        replacement: Replacement,
        replacements: dict[AccessSection, Replacement],
        best: SectionPlan | None,
    ) -> SectionPlan | None:
        """*form* on all chains that end with the section; None where it is no better than *best*."""
        with _with_replacement(replacements, section, replacement):
            return self._evaluate_chains(section, SectionPlan(replacement), replacements, best)

    def _evaluate_chains(
        self,
        section: AccessSection,
        plan: SectionPlan,
        replacements: Mapping[AccessSection, Replacement],
        best: SectionPlan | None,
    ) -> SectionPlan | None:
        possible = 0
        for chain in self.chains_by_end[section]:
            if not chain.is_certain:
                possible += 1
                if possible > _MAX_POSSIBLE or plan.failing:
                    break
            differs, example = self.differs(chain, replacements)
            if differs:
                (plan.failing if chain.is_certain else plan.possible).append((chain, example))
            if best is not None and len(plan.failing) > len(best.failing):
                return None
        return plan

    def differs(
        self, chain: SectionChain, replacements: Mapping[AccessSection, Replacement]
    ) -> tuple[bool, Counterexample | None]:
        """Whether the chain decides otherwise with *forms*, and a client who notices."""
        before, after = self.decide_22(chain), self.decide_24(chain, replacements)
        if before is None:
            return False, None
        if after is None:
            return True, None
        example = self.decisions.difference(before, after)
        return example is not None, example

    # proposals --------------------------------------------------------------------------------------
    def _candidates(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> Iterator[Lines]:
        """What the section may become; *base* is None where its own decision is to be written, else what to add where no Require is in force."""
        own_lines = self.control_lines[section]
        if section in self.failing_sections:
            yield own_lines
            return
        if section in self.guards:
            yield from FORMS
        chains = self._chains_of(section)
        forced = base is not None
        if (
            base
            and not has_directive(own_lines, {"require", "satisfy"})
            and not any(has_directive(replacements[u].control, {"require"}) for u in self._outer[section])
        ):
            yield (*own_lines, *base)
        if (
            not own_lines
            or not has_directive(own_lines, RECORD | {"satisfy"})
            or (forced and not has_directive(own_lines, {"satisfy"}))
        ):
            yield own_lines
        sources = [self._compat(section, chains), self._native(section, chains, replacements)]
        for source in sources if forced else reversed(sources):
            for lines in source:
                if self._is_admitted(section, lines):
                    yield lines
        yield own_lines

    def _chains_of(self, section: AccessSection) -> list[list[Lines]]:
        ends = self.chains_by_end[section]
        return [
            [self.lines[u] for u in chain.sections] for chain in [c for c in ends if c.is_certain] or ends
        ][:6] or [[self.lines[section]]]

    def _is_admitted(self, section: AccessSection, lines: Lines) -> bool:
        if not section.in_htaccess:
            return True
        holder = section.outer or section
        while holder.kind is not SectionKind.HTACCESS and holder.outer is not None:
            holder = holder.outer
        return not any(is_refused(lines, override) for override in self.overrides.get(holder, ()))

    def _native(
        self,
        section: AccessSection,
        chains: list[list[Lines]],
        replacements: dict[AccessSection, Replacement],
    ) -> Iterator[Lines]:
        outer = {u for chain in self.chains_by_end[section] for u in chain.sections[:-1]}
        barrier = any(has_directive(replacements[u].control, RECORD | {"satisfy"}) for u in outer)
        proposals = list(
            dict.fromkeys(lines for chain in chains for lines in self._forms(native.propose, chain))
        )
        yield from proposals
        if barrier:
            yield from ((*_NEUTRAL, *lines) for lines in proposals)
        if (
            outer and self.area not in outer
        ):  # AuthMerging And keeps out whom an outer section refuses, whatever Order says here
            own_lines = [self.lines[section]]
            for word in ("And", "Or"):
                for lines in self._forms(native.propose, own_lines, self._surroundings(chains[0]))[:3]:
                    yield (AccessLine("authmerging", word), *lines)

    def _compat(self, section: AccessSection, chains: list[list[Lines]]) -> Iterator[Lines]:
        for chain in chains[:3]:
            yield from self._forms(compat.propose, chain)

    def _forms(
        self,
        make: Callable[[Sequence[Lines], native.AuthzContext], Iterable[Lines]],
        chain: list[Lines],
        authz_context: native.AuthzContext | None = None,
    ) -> tuple[Lines, ...]:
        """What *make* proposes for a chain of these lines, worked out once for all that are alike."""
        authz_context = authz_context or self._surroundings(chain)
        key = (make, authz_context, *chain)
        if key not in self._proposed:
            self._proposed[key] = tuple(
                lines
                for lines in make(chain, authz_context)
                if self._has_alias or not native.needs_alias(lines)
            )
        return self._proposed[key]

    def _surroundings(self, chain: list[Lines]) -> native.AuthzContext:
        return native.AuthzContext(
            self.modules_22,
            any(has_directive(lines, {"authgroupfile"}) for lines in chain),
            any(has_directive(lines, {"authdbmgroupfile"}) for lines in chain),
        )


@contextmanager
def _with_replacement(
    replacements: dict[AccessSection, Replacement], section: AccessSection, replacement: Replacement
) -> Iterator[None]:
    """*forms* with that of one section for a while: a copy would cost as much as there are sections."""
    previous = replacements.get(section)
    replacements[section] = replacement
    try:
        yield
    finally:
        if previous is None:
            del replacements[section]
        else:
            replacements[section] = previous


def _modules_24(modules: Sequence[str]) -> tuple[str, ...]:
    needed = (
        "authz_core",
        "authn_core",
        "access_compat",
        "authz_host",
        "authz_user",
        "authz_groupfile",
        "authz_owner",
        "authn_file",
        "auth_basic",
    )
    names = [name.removesuffix("_module") for name in modules]
    return tuple(dict.fromkeys([*names, *needed]))


def is_refused(lines: Iterable[AccessLine], override: Override) -> bool:
    """Whether *override* doesn't admit one of *lines* in a .htaccess file."""
    return any(not admits(override, kind) for kind in needed_overrides(lines))


def needed_overrides(lines: Iterable[AccessLine]) -> set[str]:
    """The classes of AllowOverride without which a .htaccess file can't hold *lines*."""
    classes: set[str] = set()
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            classes |= needed_overrides(line.children)
        elif line.name in _LIMIT:
            classes.add("limit")
        elif line.name in _AUTHCONFIG or line.name.startswith("auth") or line.name.startswith("anonymous"):
            classes.add("authconfig")
    return classes


def _unchanged_lines(lines: Lines, removed_names: frozenset[str]) -> Iterator[AccessLine]:
    """The lines that both versions read alike: AuthType and its like; out of containers, which mean nothing to them."""
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            yield from _unchanged_lines(line.children, removed_names)
        elif line.name not in CONTROL and line.name not in removed_names:
            yield line


def _in_container(lines: Lines) -> Lines:
    """The same lines with their Require lines in a container."""
    requires = tuple(line for line in lines if line.name == "require")
    contained: list[AccessLine] = []
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            contained.append(AccessLine(line.name, line.args, line.place, _in_container(line.children)))
        elif line.name != "require":
            contained.append(line)
        elif line is requires[0]:
            contained.append(AccessLine("requireany", "", None, requires))
    return tuple(contained)


def _overrides(chains: Iterable[SectionChain]) -> dict[AccessSection, set[Override]]:
    overrides: dict[AccessSection, set[Override]] = {}
    for chain in chains:
        for section, override in chain.overrides:
            overrides.setdefault(section, set()).add(override)
    return overrides


def _visit(
    section: AccessSection,
    before: dict[AccessSection, dict[AccessSection, None]],
    done: dict[AccessSection, None],
    active: set[AccessSection],
) -> None:
    stack = [(section, iter(before[section]))]
    active.add(section)
    while stack:
        top, rest = stack[-1]
        following = next((u for u in rest if u not in done and u not in active), None)
        if following is None:
            done[top] = None
            stack.pop()
        else:
            active.add(following)
            stack.append((following, iter(before[following])))


def _weight(plan: SectionPlan) -> tuple[int, int]:
    return len(plan.failing), len(plan.possible)


def _failures(plans: dict[AccessSection, SectionPlan]) -> int:
    return sum(len(plan.failing) for plan in plans.values())
