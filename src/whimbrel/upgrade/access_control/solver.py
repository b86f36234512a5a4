"""Search of a replacement for each section with which every chain decides under 2.4 as it did under 2.2."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

from whimbrel.access.decision import AccessVerdict, Counterexample
from whimbrel.access.layers import AccessLine
from whimbrel.base.dialect import V22
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.upgrade.access_control.chain_decisions import ChainDecisions
from whimbrel.upgrade.access_control.effective import has_directive
from whimbrel.upgrade.access_control.file_cases import FileCases
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
"""The uncertain chains of a section that trials compare once one of them fails; plans compare all of them."""
_MAX_FURTHER: Final = 12
"""The maximum number of further candidates once one is right for all certain chains."""

_MAX_WITH_CASES: Final = 12
"""The texts of one section that are tried with cases."""

_PASSES: Final = (slice(0, 2), slice(2, 24))
"""The texts of one outer section that are tried for the sake of an inner one, in each pass over all sections:
the first texts of all sections come before further ones of any."""

_MIN_COMPARISONS: Final = 4000
"""The comparisons of chains that trials of outer texts, and trials of cases, may always make; they may make
two thirds of those of the search before, which cost more."""

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
        return _openings(self.failing)

    @property
    def weight(self) -> tuple[int, int, int, int]:
        """What tells a better plan, the smaller: a text that refuses more is better than one that admits
        more, also for files that may come.
        """
        return self.openings, len(self.failing), _openings(self.possible), len(self.possible)


def _openings(chains: Iterable[FailingChain]) -> int:
    return sum(example is None or example.after is AccessVerdict.GRANTED for _chain, example in chains)


_Attempt = tuple[dict[AccessSection, SectionPlan], Mapping[AccessSection, Lines | None]]
"""The plans of all sections, and the lines under which each section was forced to keep its own."""


_PlanKey = tuple[AccessSection, Lines | None, tuple[Replacement, ...]]
"""A section, the lines under which it was forced to keep its own, and the texts of its outer sections."""


class Solver:
    """The search over all sections of one `ChainDecisions`.

    *compat_first*: candidates of mod_access_compat come before native ones. *has_cases*: the text
    can have <If> sections for names of files. *report_progress* is called for each section.

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
        has_cases: bool = False,
        report_progress: ReportProgress = no_progress,
    ) -> None:
        self.decisions = decisions
        self.compat_first = compat_first
        self.report_progress = report_progress
        self.proposals = Proposals(decisions, placements, has_alias=has_alias)
        self._cases = FileCases(decisions, self.proposals, placements) if has_cases else None
        self.obstacles: dict[AccessSection, FailingChain] = {}
        self._tried: dict[_PlanKey, SectionPlan] = {}
        self._adapted_plans: dict[_PlanKey, SectionPlan] = {}
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
        """Return a plan for each section, with every chain that it does not make right."""
        plans = self._search()
        replacements = {section: plan.replacement for section, plan in plans.items()}
        return {section: self._complete_plan(section, plan, replacements) for section, plan in plans.items()}

    def _search(self) -> dict[AccessSection, SectionPlan]:
        """Return the plans found; trials may have left out uncertain chains that fail beside others."""
        forced: set[AccessSection] = set(self.decisions.sections) if self.compat_first else set()
        attempts: list[_Attempt] = []
        order = self.ordered()
        for base in _BASES:
            for _ in range(_ROUNDS):
                bases = {section: base if section in forced else None for section in order}
                plans = self._attempt(order, bases)
                attempts.append((plans, bases))
                failing = [one for written in plans.values() for one in written.failing]
                more = {u: one for one in reversed(failing) for u in one[0].sections if u not in forced}
                if not more:
                    break
                self.obstacles.update(more)
                forced.update(more)
            attempts.sort(key=lambda attempt: _failures(attempt[0]))
            if not any(_failures(attempts[0][0])):
                return attempts[0][0]
        improved = self._improve(order, attempts)
        return improved if self._cases is None else self._with_cases(order, improved, self._cases)

    def _with_cases(
        self, order: list[AccessSection], plans: dict[AccessSection, SectionPlan], cases: FileCases
    ) -> dict[AccessSection, SectionPlan]:
        """Return *plans* with cases by the names of files where they make fewer chains fail."""
        bases = dict.fromkeys(order)
        last = self._last_comparison()
        for section in order:
            if not plans[section].failing or self.decisions.compared >= last:
                continue
            replacements = {unit: plan.replacement for unit, plan in plans.items()}
            texts = self._texts_with_cases(section, replacements, cases, last)
            best = self._best_of(section, texts, replacements, None)
            present = {unit: self._complete_plan(unit, plan, replacements) for unit, plan in plans.items()}
            chains = [chain for chain, _example in plans[section].failing]
            places = itertools.chain(
                [] if best is None else [(section, best.replacement)],
                *(cases.in_outer(chain, replacements) for chain in chains),
            )
            for unit, replacement in itertools.islice(places, _MAX_WITH_CASES):
                plan = self._evaluate(unit, replacement, replacements, None)
                assert plan is not None  # nothing is better
                tried = self._with_plan(unit, plan, order, bases, plans, None)
                if _is_better(tried, present):
                    plans = tried
                    break
                if self.decisions.compared >= last:
                    break
        return plans

    def _last_comparison(self) -> int:
        """Return the number of compared chains at which trials that begin here end."""
        return self.decisions.compared + max(self.decisions.compared * 2 // 3, _MIN_COMPARISONS)

    def _complete_plan(
        self, section: AccessSection, plan: SectionPlan, replacements: dict[AccessSection, Replacement]
    ) -> SectionPlan:
        """Return *plan* with all uncertain chains that fail."""
        if not (plan.failing or plan.possible):
            return plan
        complete = SectionPlan(plan.replacement)
        self._evaluate_chains(section, complete, replacements, None, every=True)
        return complete

    def _texts_with_cases(
        self,
        section: AccessSection,
        replacements: dict[AccessSection, Replacement],
        cases: FileCases,
        last: int,
    ) -> Iterator[Replacement]:
        """Yield the present text of the section and others, each with the cases that it needs, up to the
        comparison *last*."""
        others = (self.proposals.replacements_of(section, replacements, base) for base in (None, ()))
        texts = dict.fromkeys(itertools.chain([replacements[section]], *others))
        for text in itertools.islice(texts, _MAX_WITH_CASES):
            if self.decisions.compared >= last:
                return
            added = cases.add(section, text, replacements)
            if added is not None:
                yield added

    def _attempt(
        self, order: list[AccessSection], bases: Mapping[AccessSection, Lines | None]
    ) -> dict[AccessSection, SectionPlan]:
        replacements: dict[AccessSection, Replacement] = {}
        plans: dict[AccessSection, SectionPlan] = {}
        for number, section in enumerate(order):
            self.report_progress("what sections become", number, len(order))
            plans[section] = self._plan(section, bases[section], replacements)
            replacements[section] = plans[section].replacement
        return plans

    def _key(
        self, section: AccessSection, base: Lines | None, replacements: dict[AccessSection, Replacement]
    ) -> _PlanKey:
        return section, base, tuple(replacements[outer] for outer in self.decisions.outer[section])

    def _plan(
        self, section: AccessSection, base: Lines | None, replacements: dict[AccessSection, Replacement]
    ) -> SectionPlan:
        """Return the plan of a section under the present replacements of its outer sections."""
        key = self._key(section, base, replacements)
        given = self.decisions.written.get(section)
        if given is not None:
            self._tried[key] = self._given_plan(section, given, replacements)
        elif key not in self._tried:
            self._tried[key] = self._reuse_last_plan(section, replacements, base) or self._unambiguous(
                section, self._best_plan(section, replacements, base), replacements
            )
            self._last[section, base] = self._tried[key]
        return self._tried[key]

    # outer sections --------------------------------------------------------------------------------
    def _improve(
        self, order: list[AccessSection], attempts: list[_Attempt]
    ) -> dict[AccessSection, SectionPlan]:
        """Return better plans than those of *attempts*, the best of which is the first: an outer section may
        have several texts that are right for its own chains, of which few leave a right text to an inner one.
        """
        best = attempts[0][0]
        last = self._last_comparison()
        started: list[dict[AccessSection, Replacement]] = []
        for plans, bases in attempts:
            start = {section: plan.replacement for section, plan in plans.items()}
            if start in started or _failures(plans)[0] > _failures(best)[0]:
                continue
            started.append(start)
            improved = self._improve_attempt(order, plans, bases, last)
            if improved is plans:
                continue
            if _is_better(improved, best):
                best = improved
            if not any(_failures(best)):
                break
        return best

    def _improve_attempt(
        self,
        order: list[AccessSection],
        plans: dict[AccessSection, SectionPlan],
        bases: Mapping[AccessSection, Lines | None],
        last: int,
    ) -> dict[AccessSection, SectionPlan]:
        """Return *plans* with other texts of outer sections, as long as each makes fewer chains fail.

        *last*: the number of compared chains at which the trials end.
        """
        for texts, section in itertools.product(_PASSES, order):
            while plans[section].failing:
                better = self._improve_outer(section, order, bases, plans, texts, last)
                if better is None:
                    break
                plans = better
        return plans

    def _improve_outer(
        self,
        section: AccessSection,
        order: list[AccessSection],
        bases: Mapping[AccessSection, Lines | None],
        plans: dict[AccessSection, SectionPlan],
        texts: slice,
        last: int,
    ) -> dict[AccessSection, SectionPlan] | None:
        """Return better plans with another text, among *texts* of all, of one section that precedes *section*
        in a failing chain."""
        failing = plans[section].failing
        nearby = {unit for chain, _example in failing for unit in chain.sections}
        outer = {unit: chain for chain, _example in failing for unit in reversed(chain.sections[:-1])}
        for unit, chain in outer.items():
            if unit in self.decisions.failing_sections or unit in self.decisions.written:
                continue
            alternatives = self._alternatives(unit, plans, chain)
            for plan in itertools.islice(alternatives, texts.start, texts.stop):
                if self.decisions.compared >= last:
                    return None
                tried = self._with_plan(unit, plan, order, bases, plans, nearby)
                if tried[section].weight < plans[section].weight:
                    tried = self._with_plan(unit, plan, order, bases, plans, None)
                    if _is_better(tried, plans):
                        self.obstacles.setdefault(unit, failing[0])
                        return tried
        return None

    def _alternatives(
        self, section: AccessSection, plans: Mapping[AccessSection, SectionPlan], chain: Chain
    ) -> Iterator[SectionPlan]:
        """Yield other texts of the section that are no worse for its own chains; *chain* leads further."""
        replacements = {unit: plan.replacement for unit, plan in plans.items()}
        seen = {replacements[section]}
        sources = [self.proposals.replacements_of(section, replacements, base) for base in (*_BASES, None)]
        for replacement in itertools.chain(self.proposals.varied(section, replacements, chain), *sources):
            if replacement in seen:
                continue
            seen.add(replacement)
            plan = self._evaluate(section, replacement, replacements, None)
            if plan is not None and plan.weight <= plans[section].weight:
                yield self._unambiguous(section, plan, replacements)

    def _with_plan(
        self,
        unit: AccessSection,
        plan: SectionPlan,
        order: list[AccessSection],
        bases: Mapping[AccessSection, Lines | None],
        plans: Mapping[AccessSection, SectionPlan],
        among: Container[AccessSection] | None,
    ) -> dict[AccessSection, SectionPlan]:
        """Return the plans with that of *unit* set, and those of the sections inside it found again, of
        *among* alone, and up to the first that becomes worse, if it is not None."""
        changed = {unit}
        tried = {**plans, unit: plan}
        replacements = {section: known.replacement for section, known in tried.items()}
        for section in order:
            if section is unit or changed.isdisjoint(self.decisions.outer[section]):
                continue
            if among is None or section in among:
                tried[section] = self._adapted(section, plans[section], bases[section], replacements)
                replacements[section] = tried[section].replacement
                if replacements[section] != plans[section].replacement:
                    changed.add(section)
                if among is not None and tried[section].weight > plans[section].weight:
                    break
        return tried

    def _adapted(
        self,
        section: AccessSection,
        present: SectionPlan,
        base: Lines | None,
        replacements: dict[AccessSection, Replacement],
    ) -> SectionPlan:
        """Return the present text of the section if it is right under *replacements* too, else the best one.

        The result depends on no earlier trial, so equivalent hosts get equal texts.
        """
        unchanged = self._evaluate(section, present.replacement, replacements, None)
        assert unchanged is not None  # nothing is better
        if not unchanged.failing or section in self.decisions.written:
            return unchanged
        key = self._key(section, base, replacements)
        if key not in self._adapted_plans:
            best = self._best_plan(section, replacements, base)
            self._adapted_plans[key] = self._unambiguous(section, best, replacements)
        return self._adapted_plans[key]

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
                contained = replace(plan.replacement, control=in_container(control))
                return SectionPlan(contained, plan.failing, plan.possible)
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
        *,
        every: bool = False,
    ) -> SectionPlan | None:
        """Add the failing chains to *plan*; *every*: all uncertain ones too, also where others fail.

        A plan without failing chains is compared in full in any case.
        """
        possible = 0
        for chain in self.decisions.chains_by_end[section]:
            if not chain.is_certain:
                possible += 1
                is_enough = possible > _MAX_POSSIBLE and bool(plan.possible)
                if not every and (is_enough or plan.failing):
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


def _is_better(tried: dict[AccessSection, SectionPlan], plans: dict[AccessSection, SectionPlan]) -> bool:
    """Return True if *tried* has fewer failing chains, and opens no chain that *plans* does not open."""
    return _failures(tried) < _failures(plans) and _opened(tried) <= _opened(plans)


def _opened(plans: dict[AccessSection, SectionPlan]) -> set[Chain]:
    """Return the chains, uncertain ones included, in which 2.4 admits a client that 2.2 refuses."""
    return {
        chain
        for plan in plans.values()
        for chain, example in (*plan.failing, *plan.possible)
        if example is None or example.after is AccessVerdict.GRANTED
    }


def _failures(plans: dict[AccessSection, SectionPlan]) -> tuple[int, int]:
    return (
        sum(plan.openings for plan in plans.values()),
        sum(len(plan.failing) for plan in plans.values()),
    )
