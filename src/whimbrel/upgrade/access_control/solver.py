"""Search of a replacement for each section with which every chain decides under 2.4 as it did under 2.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from whimbrel.access.decision import AccessVerdict, Counterexample
from whimbrel.access.layers import AccessLine
from whimbrel.base.dialect import V22
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.upgrade.access_control.chain_decisions import ChainDecisions
from whimbrel.upgrade.access_control.effective import has_directive
from whimbrel.upgrade.access_control.placements import Placements
from whimbrel.upgrade.access_control.proposals import Proposals, in_container
from whimbrel.upgrade.access_control.replacement import Lines, Replacement, with_replacement
from whimbrel.upgrade.access_control.sections import AccessSection, Chain, is_24_only
from whimbrel.upgrade.source.config_tree import ReportProgress, no_progress

_ROUNDS: Final = 3
_GRANTED: Final = AccessLine("require", "all granted")
_DENIED: Final = (AccessLine("satisfy", "Any"), AccessLine("require", "all denied"))
_BASES: Final[tuple[Lines, ...]] = ((), (_GRANTED,), _DENIED)
"""Lines for sections that keep Order, Allow and Deny while no Require is in force.

They are none, the line that an AuthType further inside needs, or the lines that a Satisfy Any further inside
needs.
"""
_MAX_POSSIBLE: Final = 64
_MAX_FURTHER: Final = 12
"""The maximum number of further candidates once one is right for all certain chains."""

FailingChain = tuple[Chain, Counterexample | None]
"""A chain that a text does not make right, with an example client."""


@dataclass(slots=True, eq=False)
class SectionPlan:
    """The replacement of a section, and the chains that it cannot make right.

    *failing* are certain chains, *possible* uncertain ones, each with an example client.
    """

    replacement: Replacement
    failing: list[FailingChain] = field(default_factory=list)
    possible: list[FailingChain] = field(default_factory=list)

    @property
    def control(self) -> Lines:
        """The section's own lines about access."""
        return self.replacement.control

    @property
    def openings(self) -> int:
        """The number of failing chains in which 2.4 admits a client that 2.2 refuses."""
        return sum(
            example is None or example.after is AccessVerdict.GRANTED for _chain, example in self.failing
        )

    @property
    def weight(self) -> tuple[int, int, int]:
        """What tells a better plan, the smaller: a text that refuses more is better than one that admits
        more.
        """
        return self.openings, len(self.failing), len(self.possible)


class Solver:
    """The search over all sections of one `ChainDecisions`.

    *compat_first*: candidates of mod_access_compat come before native ones. *report_progress* is called for
    each section.

    Attributes:
        obstacles: the sections for which native lines were given up, each with a chain in which they fail.
    """

    def __init__(
        self,
        decisions: ChainDecisions,
        placements: Placements,
        *,
        compat_first: bool = False,
        has_alias: bool = True,
        report_progress: ReportProgress = no_progress,
    ) -> None:
        self.decisions = decisions
        self.compat_first = compat_first
        self.report_progress = report_progress
        self.proposals = Proposals(decisions, placements, has_alias=has_alias)
        self.obstacles: dict[AccessSection, FailingChain] = {}
        self._tried: dict[tuple[AccessSection, Lines | None, tuple[Replacement, ...]], SectionPlan] = {}
        self._last: dict[tuple[AccessSection, Lines | None], SectionPlan] = {}

    def ordered(self) -> list[AccessSection]:
        """Return the sections in an order in which each follows all sections that can precede it in
        a chain."""
        before: dict[AccessSection, dict[AccessSection, None]] = {
            section: {} for section in self.decisions.sections
        }
        for chain in self.decisions.chains:
            for first, second in zip(chain.sections, chain.sections[1:], strict=False):
                before[second][first] = None
        done: dict[AccessSection, None] = {}
        for section in self.decisions.sections:
            _visit(section, before, done, set())
        return list(done)

    def solve(self) -> dict[AccessSection, SectionPlan]:
        """Return a plan for each section."""
        forced: set[AccessSection] = set(self.decisions.sections) if self.compat_first else set()
        best: dict[AccessSection, SectionPlan] = {}
        order = self.ordered()
        for base in _BASES:
            for _ in range(_ROUNDS):
                plans = self._attempt(order, forced, base)
                if not best or _failures(plans) < _failures(best):
                    best = plans
                failing = [one for written in plans.values() for one in written.failing]
                more = {u: one for one in reversed(failing) for u in one[0].sections if u not in forced}
                if not more:
                    break
                self.obstacles.update(more)
                forced.update(more)
            if not any(_failures(best)):
                break
        return best

    def _attempt(
        self, order: list[AccessSection], forced: set[AccessSection], base: Lines
    ) -> dict[AccessSection, SectionPlan]:
        replacements: dict[AccessSection, Replacement] = {}
        plans: dict[AccessSection, SectionPlan] = {}
        for number, section in enumerate(order):
            self.report_progress("what sections become", number, len(order))
            under = base if section in forced else None
            key = (section, under, tuple(replacements[outer] for outer in self.decisions.outer[section]))
            given = self.decisions.written.get(section)
            if given is not None:
                self._tried[key] = self._given_plan(section, given, replacements)
            elif key not in self._tried:
                self._tried[key] = self._reuse_last_plan(section, replacements, under) or self._unambiguous(
                    section, self._best_plan(section, replacements, under), replacements
                )
                self._last[section, under] = self._tried[key]
            plans[section] = self._tried[key]
            replacements[section] = plans[section].replacement
        return plans

    def _given_plan(
        self, section: AccessSection, lines: Lines, replacements: dict[AccessSection, Replacement]
    ) -> SectionPlan:
        """Return the plan of a section that has its text for 2.4."""
        plan = self._evaluate(section, Replacement(lines), replacements, None)
        assert plan is not None  # nothing is better
        return plan

    def _reuse_last_plan(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> SectionPlan | None:
        """Return the last plan of the section if it is right under the present outer sections too."""
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
        """Return *plan* with lines that cannot be read as those of 2.2: text that 2.2 would read differently
        shows that it is for 2.4."""
        control = plan.control
        if (
            plan.failing
            or section in self.decisions.failing_sections
            or any(is_24_only(line) for line in control)
            or not has_directive(control, {"require"})
        ):
            return plan
        for chain in self.decisions.chains_by_end[section]:
            texts = [
                self.decisions.unchanged_lines[u] + (control if u is section else replacements[u].control)
                for u in chain.sections
            ]
            if any(is_24_only(line) for text in texts for line in text):
                continue
            decision_22 = self.decisions.cache.decision(
                V22.name,
                [self.decisions.layer_of(u, text) for u, text in zip(chain.sections, texts, strict=True)],
            )
            before = self.decisions.before_22(chain)
            if (
                decision_22 is not None
                and before is not None
                and self.decisions.cache.difference(decision_22, before) is not None
            ):
                return SectionPlan(
                    Replacement(in_container(control), plan.replacement.repeats), plan.failing, plan.possible
                )
        return plan

    def _best_plan(
        self, section: AccessSection, replacements: dict[AccessSection, Replacement], base: Lines | None
    ) -> SectionPlan:
        candidates = self.proposals.replacements_of(section, replacements, base)
        best = self._best_of(section, candidates, replacements, None)
        if best is None or not _is_final(section, best):
            best = self._best_of(section, self.proposals.repeated(section, replacements), replacements, best)
        return best or SectionPlan(
            Replacement(self.decisions.control_lines[section]),
            [(chain, None) for chain in self.decisions.chains_by_end[section]],
        )

    def _best_of(
        self,
        section: AccessSection,
        candidates: Iterator[Replacement],
        replacements: dict[AccessSection, Replacement],
        best: SectionPlan | None,
    ) -> SectionPlan | None:
        """Return the best of *best* and the plans of *candidates*; few of them are tried once a plan is right
        for all certain chains."""
        more = _MAX_FURTHER
        for replacement in candidates:
            if best is not None and not best.failing:
                more -= 1
                if not more:
                    break
            plan = self._evaluate(section, replacement, replacements, best)
            if plan is None:
                continue
            if _is_final(section, plan):
                return plan
            if best is None or plan.weight < best.weight:
                best = plan
        return best

    def _evaluate(
        self,
        section: AccessSection,
        replacement: Replacement,
        replacements: dict[AccessSection, Replacement],
        best: SectionPlan | None,
    ) -> SectionPlan | None:
        """Evaluate *replacement* on all chains that end with the section; return None if it is no better than
        *best*."""
        with with_replacement(replacements, section, replacement):
            return self._evaluate_chains(section, SectionPlan(replacement), replacements, best)

    def _evaluate_chains(
        self,
        section: AccessSection,
        plan: SectionPlan,
        replacements: Mapping[AccessSection, Replacement],
        best: SectionPlan | None,
    ) -> SectionPlan | None:
        possible = 0
        for chain in self.decisions.chains_by_end[section]:
            if not chain.is_certain:
                possible += 1
                if possible > _MAX_POSSIBLE or plan.failing:
                    break
            differs, example = self.decisions.differs(chain, replacements)
            if differs:
                (plan.failing if chain.is_certain else plan.possible).append((chain, example))
            if best is not None and _is_worse(plan, best):
                return None
        return plan


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


def _is_final(section: AccessSection, plan: SectionPlan) -> bool:
    """Return True if no plan is better; the URLs of a page of a handler have no files."""
    return not plan.failing and (not plan.possible or section.is_page)


def _is_worse(begun: SectionPlan, best: SectionPlan) -> bool:
    """Return True if *begun*, of which some chains are evaluated, cannot become better than *best*."""
    if best.openings:
        return begun.openings > best.openings
    return bool(begun.openings) or len(begun.failing) > len(best.failing)


def _failures(plans: dict[AccessSection, SectionPlan]) -> tuple[int, int]:
    return (
        sum(plan.openings for plan in plans.values()),
        sum(len(plan.failing) for plan in plans.values()),
    )
