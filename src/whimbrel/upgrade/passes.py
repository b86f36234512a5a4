"""The upgrade of an estate: rules look, their edits are made in memory, the result is read again, until nothing changes.

Rules go by their order: those of a higher one look when those of the lower ones have nothing left to do.  Edits that clash with others wait for the
next look.  What a rule says without edits counts where it still says so at the end, because another rule may have mended it; what it
says with edits counts where they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from whimbrel.errors import Place
from whimbrel.records import dataclass, field, replace
from whimbrel.syntax.edits import Edit, Group, apply
from whimbrel.upgrade.choice import Choice, by_hand, settled, why_by_hand
from whimbrel.upgrade.difference import added_lines
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.ignoring import ignored
from whimbrel.upgrade.lines import Step, Trace
from whimbrel.upgrade.model import Finding, Risk, Rule
from whimbrel.upgrade.rules import all_rules

MOST_SWEEPS: Final = 8
MOST_LOOKS: Final = 8
READING: Final = "READ"
"""What stands for the number of a rule in findings about what couldn't be read."""
ENGINE: Final = "PASS"
"""The same for edits that never come to an end."""

Decide = Callable[[Finding, Estate], "Finding | None"]
"""Asked before edits are made: the finding, maybe with other edits, or None to leave the text as it is."""


class RuleError(Exception):
    """A rule that couldn't judge this estate: a defect of the rule.  Nothing can be said for the whole, so nothing is changed."""

    def __init__(self, rule: Rule, problem: Exception) -> None:
        what = f"{type(problem).__name__}: {problem}"
        super().__init__(f"rule {rule.number} failed ({what}): nothing was changed; --ignore {rule.number} leaves it out")
        self.rule, self.problem = rule, problem


@dataclass(slots=True)
class Result:
    """What an upgrade found and made.

    *findings* are in the order of files and lines, with the places of the original; those that still have edits were applied, the others were not.
    *files* are the new bytes of the files that change, by the path they have in *estate*, the estate as it was read from disk;
    *traces* say where their lines come from.  *passes* counts how often something was changed.
    """

    estate: Estate
    findings: list[Finding] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    passes: int = 0

    @property
    def needs_review(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.needs_review]


def upgrade(estate: Estate, rules: Iterable[Rule] | None = None, decide: Decide | None = None) -> Result:
    """Upgrade *estate*, which must come from `read_estate`; nothing is written."""
    return _Upgrade(estate, all_rules() if rules is None else rules, decide or (lambda finding, _estate: finding)).run()


class _Upgrade:
    def __init__(self, estate: Estate, rules: Iterable[Rule], decide: Decide) -> None:
        ordered = sorted(rules, key=lambda rule: rule.order)
        self.orders = [list(group) for _order, group in groupby(ordered, key=lambda rule: rule.order)]
        self.first, self.now, self.decide = estate, estate, decide
        self.result = Result(estate)
        self.applied: list[Finding] = []
        self.declined: set[tuple[str, Place, str]] = set()
        self.refused: dict[tuple[str, Place, str], Finding] = {}
        self._seen: dict[int, tuple[Estate, list[Finding]]] = {}  # by order: the estate that had nothing left to change

    def run(self) -> Result:
        """Sweep through the orders until one whole sweep changes nothing."""
        last: list[Finding] = []
        for _ in range(MOST_SWEEPS):
            before, last = self.result.passes, []
            for number, rules in enumerate(self.orders):
                seen, left = self._seen.get(number, (None, []))
                if seen is not self.now:
                    left, settled_now = self._order(rules)
                    if settled_now:
                        self._seen[number] = self.now, left
                last += left
            if self.result.passes == before:
                break
        else:
            last.append(self._endless(last))
        self.result.files = {path: data for path, data in self.result.files.items() if data != self.first.files[path].document.bytes}
        found = [*self.applied, *last, *self.refused.values(), *self._unread()]
        self.result.findings = self._sorted(found)
        return self.result

    def _order(self, rules: list[Rule]) -> tuple[list[Finding], bool]:
        """Let the rules of one order look until they change nothing; what they then say without edits, and whether it came to that."""
        left: list[Finding] = []
        for _ in range(MOST_LOOKS):
            found = self._look(rules)
            left = [self._original(finding) for finding in found if not finding.edits]
            chosen, choice = self._choose([finding for finding in found if finding.edits], left)
            if not chosen:
                return left, True
            self._make(chosen, choice)
        return left, False

    def _look(self, rules: list[Rule]) -> list[Finding]:
        found: list[Finding] = []
        for number, rule in enumerate(rules):
            self.now.step(f"rule {rule.number}", number, len(rules))
            try:
                found += rule.check(self.now)
            except Exception as problem:
                raise RuleError(rule, problem) from problem
        found = settled(found, self.now.files)
        return [finding for finding in found if not ignored(finding, self.now)]

    def _choose(self, wishes: list[Finding], left: list[Finding]) -> tuple[list[Finding], Choice]:
        """The findings whose edits can be made now; what is declined or impossible goes to *left*."""
        choice, chosen = Choice(), []
        for wish in wishes:
            original = self._original(wish)
            key = (original.rule, original.place, original.message)
            why = why_by_hand(wish, self.now)
            if why:
                self.refused[key] = by_hand(original, why)
                continue
            decided = None if key in self.declined else self.decide(wish, self.now)
            if decided is None:
                self.declined.add(key)
                self.refused[key] = by_hand(original, "you declined the change")
            elif choice.offer(decided.edits):
                chosen.append(replace(original, edits=decided.edits, new=self._new(decided)))
        return chosen, choice

    def _new(self, finding: Finding) -> tuple[str, ...]:
        by_file: dict[str, list[Edit]] = {}
        for one in dict.fromkeys(finding.edits):
            by_file.setdefault(one.path, []).append(one.edit)
        return tuple(
            line
            for path, edits in by_file.items()
            for line in added_lines(self.now.files[path].document.bytes, edits)
        )

    def _make(self, chosen: list[Finding], choice: Choice) -> None:
        """Make the edits and read the estate again."""
        files, traces = self.result.files, self.result.traces
        for path, edits in choice.edits.items():
            old = self.now.files[path].document.bytes
            new = apply(old, [Group(tuple(edits))])
            if new != old:
                files[path] = new
                traces.setdefault(path, Trace()).steps.append(Step(old, edits))
        self.applied += chosen
        self.result.passes += 1
        self.now = self.first.again(files, self.now)

    # places --------------------------------------------------------------------------------------
    def _original(self, finding: Finding) -> Finding:
        return replace(finding, place=self._place(finding.place))

    def _place(self, place: Place) -> Place:
        trace = self.result.traces.get(place.path)
        via = self._place(place.included_from) if place.included_from else None
        return Place(place.path, trace.original(place.line) if trace else place.line, via)

    def _sorted(self, found: list[Finding]) -> list[Finding]:
        """Each finding once, by files in the order of reading and lines."""
        unique = {(f.rule, f.place.path, f.place.line, f.message, bool(f.edits)): f for f in reversed(found)}
        order = {path: at for at, path in enumerate(self.first.files)}
        return sorted(unique.values(), key=lambda f: (order.get(f.place.path, len(order)), f.place.line, f.rule))

    # what the engine itself has to say -----------------------------------------------------------
    def _unread(self) -> Iterator[Finding]:
        """What couldn't be read at first, and what can't be read any more."""
        for unread in self.first.unread:
            yield _unreadable(unread.place, unread.reason)
        known = {(unread.place.path, unread.reason) for unread in self.first.unread}
        for unread in self.now.unread:
            if (unread.place.path, unread.reason) not in known:
                yield replace(_unreadable(self._place(unread.place), f"after the upgrade: {unread.reason}"), risk=Risk.BREAKS)

    def _endless(self, last: list[Finding]) -> Finding:
        rules = sorted({finding.rule for finding in self.applied[-20:]})
        path = next(iter(self.result.files), next(iter(self.first.files), ""))
        return Finding(ENGINE, Place(path, 1), f"the edits of {', '.join(rules)} undo each other: stopped after {MOST_SWEEPS} rounds",
                       "look at the result of these rules, or leave one of them out with --ignore", Risk.BREAKS)


def _unreadable(place: Place, message: str) -> Finding:
    return Finding(READING, place, message, "what stands there was not looked at: make it readable, or look at it yourself")
