"""Coverage: which differing lines were exercised by the comparison, and which were not.

A line that no exact comparison and no request depends on is not decided: the verdict never rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Final

from whimbrel.access.file_conditions import name_patterns
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.plan.plan import Plan
from whimbrel.verify.alignment import PLACES, Alignment, has_pattern, words_of
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Causes, LineKey
from whimbrel.verify.config_lines import SECTIONS, ConfigLine, LineScope, SideLines
from whimbrel.verify.coverage.decided_by import (
    OF_FILE,
    OF_SEVERAL,
    OF_STATUS,
    SELF_ACTING,
    DecidedBy,
    decided_by,
)
from whimbrel.verify.coverage.merged_values import MergedValues, PlanPair
from whimbrel.verify.coverage.without_line import FULL_BUDGET, RemovalBudget, WithoutLine
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.patterns.pairs import PatternPair
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import DifferenceGroup, Example, NotDecided

MAX_EXCHANGES: Final = 4000
"""Requests with their answers that are kept for sides without a line."""
MAX_NAMED: Final = 200
"""Lines that are named as not decided; of further ones the number."""
_MAX_TEXT: Final = 120
Place = tuple[str, int]
"""The file and line of a directive or section."""
UNREACHED: Final = "no request that was asked reaches it"
TIME_ENDED: Final = "not asked: the time ended"
NUMBER_ENDED: Final = "not asked: the number of requests ended"
"""Why no request met a line."""


@dataclass(slots=True, eq=False)
class LineState:
    """What is known about one differing line of side *number*.

    Attributes:
        is_met: a request reached its section.
        is_recorded: the comparison of settings shows what it sets.
        differs: the first pair of plans between which its settings differ, with a request and its answers.
    """

    number: int
    line: ConfigLine
    is_met: bool = False
    is_recorded: bool = False
    differs: tuple[Probe, Answer, Answer] | None = None


@dataclass(slots=True)
class ComparedProbe:
    """A request, its answers on both sides, and the sections that applied to it on each."""

    probe: Probe
    answers: tuple[Answer, Answer]
    scopes: tuple[frozenset[LineScope], frozenset[LineScope]]


class Coverage:
    """The differing lines of two sides while requests are asked.

    Attributes:
        exchanges: the first requests, for the test of lines by their removal; at most `MAX_EXCHANGES`.
    """

    def __init__(
        self,
        alignment: Alignment,
        causes: Causes,
        equal: Iterable[PatternPair] = (),
        ignored: Set[int] = frozenset(),
        budget: RemovalBudget = FULL_BUDGET,
    ) -> None:
        self.alignment = alignment
        self.causes = causes
        self.ignored = ignored
        sides = alignment.sides
        self.sides = sides
        self._unreached = UNREACHED
        equal = list(equal)
        self._partners = {one: other for pair in alignment.scopes for one, other in (pair, pair[::-1])}
        self._sections = {id(pair.scopes[1]): pair.scopes[0] for pair in equal if pair.lines is None}
        lines_alike = {line for pair in equal for line in pair.lines or ()}
        self.states: dict[ConfigLine, LineState] = {
            line: LineState(number, line)
            for number, lines in enumerate(alignment.differing(self._sections))
            for line in lines
            if decided_by(line) is not DecidedBy.NOTHING
            and line not in lines_alike
            and id(line.scope) not in ignored
            and (line.name not in OF_STATUS or any(map(_has_status, sides)))
        }
        places = frozenset((line.path, line.line) for line in self.states)
        self.values = MergedValues((sides[0].side, sides[1].side), alignment.forms, places)
        self._by_scope: dict[LineScope, list[LineState]] = {}
        for state in self.states.values():
            self._by_scope.setdefault(state.line.scope, []).append(state)
        self.exchanges: list[ComparedProbe] = []
        self._pairs: dict[tuple[int, int], tuple[frozenset[LineScope], frozenset[LineScope]]] = {}
        self._keys: list[set[LineKey] | None] = [None, None]
        self._removal = [WithoutLine(lines.side, budget) for lines in sides]
        self._exercised: dict[ConfigLine, bool] = {}

    def note(
        self, probe: Probe, answers: tuple[Answer, Answer], plans: tuple[Plan | None, Plan | None]
    ) -> None:
        """Note that *probe* was asked; *plans*: of its access check, None for a side without one."""
        if not self.states:
            return
        old, new = plans
        if old is None or new is None:
            scopes = self._of_server(answers)
            if answers[0].status != answers[1].status:
                self._meet(plans)  # the request itself shows the difference
        else:
            key = id(old), id(new)
            known = self._pairs.get(key)
            if known is None:
                known = (self._applying(0, old), self._applying(1, new))
                self._pairs[key] = known
                self._compare(probe, answers, (old, new), known)
            scopes = known
        if len(self.exchanges) < MAX_EXCHANGES and (scopes[0] or scopes[1]):
            self.exchanges.append(ComparedProbe(probe, answers, scopes))

    def forget(self) -> None:
        """Drop what belongs to plans that are about to be dropped."""
        self._pairs.clear()
        self.values.forget()

    def _meet(self, plans: tuple[Plan | None, Plan | None]) -> None:
        """Note that the lines of a plan without a counterpart were reached."""
        for number, plan in enumerate(plans):
            for scope in self._applying(number, plan) if plan is not None else ():
                for state in self._by_scope[scope]:
                    state.is_met = True

    def _applying(self, number: int, plan: Plan) -> frozenset[LineScope]:
        """Return the scopes with differing lines that apply under *plan*."""
        return frozenset(self.causes.scopes(self.sides[number], plan)) & self._by_scope.keys()

    def _of_server(self, answers: tuple[Answer, Answer]) -> tuple[frozenset[LineScope], frozenset[LineScope]]:
        """Return the scopes of the servers alone, for requests that end before access control."""
        old, new = (
            frozenset((lines.main, lines.hosts.get(answer.server, lines.main))) & self._by_scope.keys()
            for lines, answer in zip(self.sides, answers, strict=True)
        )
        return old, new

    def _compare(
        self,
        probe: Probe,
        answers: tuple[Answer, Answer],
        plans: PlanPair,
        scopes: tuple[frozenset[LineScope], frozenset[LineScope]],
    ) -> None:
        for number, found in enumerate(scopes):
            for state in (state for scope in found for state in self._by_scope[scope]):
                state.is_met = True
                if not state.is_recorded:
                    state.is_recorded = self.values.is_recorded(number, state.line, plans)
                if state.differs is None and self.values.differing(number, state.line, plans):
                    state.differs = (probe, *answers)

    @property
    def missed_access_lines(self) -> list[ConfigLine]:
        """The differing lines about access that no request met."""
        return [
            line
            for line, state in self.states.items()
            if not state.is_met and decided_by(line) is DecidedBy.EXACT
        ]

    @property
    def changed_places(self) -> tuple[set[Place], set[Place]]:
        """The places of the sections with differing lines, of each side."""
        found: tuple[set[Place], set[Place]] = (set(), set())
        for line, state in self.states.items():
            found[state.number].add((line.scope.path, line.scope.line))
        return found

    def meet(self, sections: Set[Place]) -> None:
        """Note that an exact comparison covers the lines about access in the *sections* at these places."""
        for line, state in self.states.items():
            is_covered = (line.scope.path, line.scope.line) in sections
            state.is_met |= is_covered and decided_by(line) is DecidedBy.EXACT

    # the result ---------------------------------------------------------------------------------------
    def finish(
        self, groups: list[DifferenceGroup], unreached: str = UNREACHED
    ) -> tuple[list[DifferenceGroup], list[NotDecided]]:
        """Return differences of values, and the lines that were not decided.

        Lines that *groups* name are decided. *unreached*: why no request met a line.
        """
        self._unreached = unreached
        named = {(line.path, line.line) for group in groups for line in _lines_of(group)}
        left = [
            state
            for state in self.states.values()
            if (state.line.path, state.line.line) not in named
            and self._section_of(state) not in named
            and (state.differs is not None or not (state.is_met and state.is_recorded))
        ]
        found = self._value_groups([state for state in left if _is_value(state)])
        undecided: dict[str, NotDecided] = {}
        for state in left:
            reason = "" if _is_value(state) else self._reason(state)
            if reason:
                text = self._named(state.number, state.line, reason)
                undecided[text] = NotDecided(text, places=self._places(state.number, state.line))
        for number, scope in self._patterned_scopes():
            if (scope.path, scope.line) not in named and any(
                (line.path, line.line) not in named for line in scope.lines
            ):
                line = ConfigLine(f"<{scope.kind}", f"{scope.args}>", scope.path, scope.line, scope)
                text = self._named(number, line, "its pattern has no equal on the other side")
                undecided[text] = NotDecided(text, places=self._places(number, line))
        if not groups and not found:
            undecided.update((text, NotDecided(text)) for text in self._modules())
        return found, _limited(list(undecided.values()))

    def _places(self, number: int, line: ConfigLine) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        """Return the places of *line* of side *number*, of what has its place on the other side, and of the
        sections around both.
        """
        scope = line.scope
        other = self.causes.texts.lines.get(line)
        partner = other.scope if other is not None else self._partners.get(scope)
        lines = [other] if other is not None else []
        if partner is not None and partner.kind in SECTIONS:
            lines += [state.line for state in self._by_scope.get(partner, ())]
        own = (line.path, line.line), *_opening(scope)
        opposite = (*((one.path, one.line) for one in lines), *_opening(partner))
        return (own, opposite) if number == 0 else (opposite, own)

    def _modules(self) -> Iterator[str]:
        """Yield sentences about modules that one side has alone, and that act without a directive."""
        modules = (lines.side.loaded.modules.modules for lines in self.sides)
        loaded = [{module.name for module in row} & SELF_ACTING for row in modules]
        for number, lines in enumerate(self.sides):
            for name in sorted(loaded[number] - loaded[1 - number]):
                yield f"{lines.side.name}: {name} is loaded on this side alone, and no answer differs"

    def _reason(self, state: LineState) -> str:
        """Return why the line is not decided, "" if it is."""
        how = decided_by(state.line)
        if how is DecidedBy.EXACT and state.is_met:
            return ""  # a chain whose decisions could not be compared is named itself
        if how is DecidedBy.VALUE and state.is_met and not state.is_recorded:
            how = DecidedBy.UNKNOWN
        if how is not DecidedBy.REQUESTS:
            return _REASONS[how] if state.is_met else self._unreached
        if not state.is_met:
            return "no derived request shows its effect"
        other = self.causes.texts.lines.get(state.line)
        if other is None or self._has_equal(state):
            return self._reason_of_removal(state)
        if self._is_exercised(state.line, other, state.number):
            return ""
        # an answer may show the change in the place of either line alone, where others make up for it
        if self._is_exercised(other, state.line, 1 - state.number):
            return ""
        return _changed_words(state.line, other)

    def _reason_of_removal(self, state: LineState) -> str:
        """Return why a line that replaces none is not decided, "" if it is."""
        if not self._is_exercised(state.line, None, state.number):
            return "no derived request shows its effect"
        # the removal shows that the line acts; of several words the changed one may be without effect so far
        name = state.line.name
        is_apart = name in OF_FILE or (name in OF_SEVERAL and not self._has_equal(state))
        is_shown = state.differs is None or not is_apart
        return "" if is_shown else "no answer shows what its change does"

    def _is_exercised(self, line: ConfigLine, other: ConfigLine | None, number: int) -> bool:
        """Return True if a request is answered otherwise by side *number* with *other* in place of *line*."""
        known = self._exercised.get(line)
        if known is None:
            scope = line.scope
            exchanges = [
                (one.probe, one.answers[number]) for one in self.exchanges if scope in one.scopes[number]
            ]
            count = sum(len(one.lines) for one in self.sides[number].scopes)
            known = self._removal[number].is_exercised(line, count, exchanges, other)
            self._exercised[line] = known
        return known

    def _has_equal(self, state: LineState) -> bool:
        """Return True if the other side has the line, too, in another place."""
        number = 1 - state.number
        keys = self._keys[number]
        if keys is None:
            scopes = self.sides[number].scopes
            keys = {self.causes.key_of(line) for scope in scopes for line in scope.lines}
            self._keys[number] = keys
        return self.causes.key_of(state.line) in keys

    def _named(self, number: int, line: ConfigLine, reason: str) -> str:
        text = line.text if len(line.text) <= _MAX_TEXT else line.text[: _MAX_TEXT - 3] + "..."
        return f"{self.sides[number].side.name}: {line.path}:{line.line}: {text}: {reason}"

    def _patterned_scopes(self) -> Iterator[tuple[int, LineScope]]:
        """Yield sections with a pattern or condition that the other side has nowhere."""
        own_key = self.alignment.own_key
        equal = self._sections
        keys = (
            {own_key(scope, 0): scope for scope in self.sides[0].scopes},
            {
                own_key(equal.get(id(scope), scope), int(id(scope) not in equal)): scope
                for scope in self.sides[1].scopes
            },
        )
        for number, found in enumerate(keys):
            for key, scope in found.items():
                if (
                    scope.kind in PLACES
                    or not scope.lines
                    or not has_pattern(scope)
                    or id(scope) in self.ignored
                ):
                    continue
                if key not in keys[1 - number] and not self._is_compared_by_path(number, scope):
                    yield number, scope

    def _is_compared_by_path(self, number: int, scope: LineScope) -> bool:
        """Return True for a section on the name of the file whose lines the chains of sections decide.

        A <Files> section has requests for each set of names that it can share with others. The directory of
        an <If> is one path, and the other side has <Files> sections with its patterns: the chains have
        requests for both.
        """
        if scope.kind in ("files", "filesmatch"):
            return _is_of_one_directory(scope) and self._are_exact(scope)
        patterns = name_patterns(" ".join(words_of(scope))) if scope.kind == "if" else None
        if patterns is None:
            return False
        files = (one for one in self.sides[1 - number].scopes if one.kind in ("files", "filesmatch"))
        if not patterns <= {word for one in files for word in words_of(one)[-1:]}:
            return False
        return self._are_exact(scope)

    def _are_exact(self, scope: LineScope) -> bool:
        """Return True if the chains of sections decide all lines of *scope*, and requests have met them."""
        states = [self.states.get(line) for line in scope.lines]
        return all(
            decided_by(line) is DecidedBy.EXACT and (state is None or state.is_met)
            for line, state in zip(scope.lines, states, strict=True)
        )

    def _section_of(self, state: LineState) -> tuple[str, int] | None:
        """Return the location of the section of a line, if the section itself differs."""
        scope = self.causes.differing_section(state.number, state.line.scope)
        return (scope.path, scope.line) if scope is not None else None

    # values -------------------------------------------------------------------------------------------
    def _value_groups(self, states: list[LineState]) -> list[DifferenceGroup]:
        """Return a difference for each section that differs, and for each directive in the others."""
        found: dict[tuple[str, object], list[LineState]] = {}
        for state in states:
            scope = state.line.scope
            key: tuple[str, object] = (state.line.name, "server" if scope.kind in PLACES else scope.written)
            if self._section_of(state) is not None:
                partner = self.causes.texts.scopes.get(scope)
                key = ("", frozenset((id(scope), id(partner))))
            found.setdefault(key, []).append(state)
        return [_value_group(self.causes, states, of_section=not name) for (name, _), states in found.items()]


_REASONS: Final = {
    DecidedBy.VALUE: UNREACHED,
    DecidedBy.UNKNOWN: "its effect cannot be compared",
}


def _is_of_one_directory(scope: LineScope) -> bool:
    """Return True if the sections around *scope* have no pattern and no condition of requests."""
    outer = scope.outer
    while outer is not None and outer.kind not in ("server", "htaccess"):
        if outer.kind != "directory" or has_pattern(outer):
            return False
        outer = outer.outer
    return True


def _changed_words(line: ConfigLine, other: ConfigLine) -> str:
    """Return that no answer shows the words in which *line* differs from *other*."""
    words = line.words()
    other_words = other.words()
    added = " ".join(word for word in words if word not in other_words)
    removed = " ".join(word for word in other_words if word not in words)
    if added and removed:
        return f"no answer shows what {added} in place of {removed} does"
    if added or removed:
        return f"no answer shows what {added or removed} does"
    return "no answer shows what the order of its words does"


def _value_group(causes: Causes, states: list[LineState], *, of_section: bool) -> DifferenceGroup:
    """Return the difference of values with one example for each directive of *states*.

    *of_section*: the lines of one side alone apply to each example.
    """
    old, new = ([state.line for state in states if state.number == number] for number in (0, 1))
    group = DifferenceGroup("response", causes.of_lines(old, new))
    examples = {state.line.name: state for state in reversed(states) if state.differs is not None}
    for name, state in reversed(examples.items()):
        sides = [state.number] if of_section else [0, 1]
        shown = ["", ""]
        for number in sides:
            shown[number] = ", ".join(line.args.strip() for line in (old, new)[number] if line.name == name)
        difference = Difference((FieldDifference(f"value of {name}", shown[0], shown[1]),))
        assert state.differs is not None
        probe, *answers = state.differs
        group.add(Example(probe, difference, answers[0], answers[1]))
    return group


def _has_status(lines: SideLines) -> bool:
    """Return True if a line names the status page."""
    return any("server-status" in line.args.lower() for scope in lines.scopes for line in scope.lines)


def _is_value(state: LineState) -> bool:
    return state.differs is not None and decided_by(state.line) is DecidedBy.VALUE


def _lines_of(group: DifferenceGroup) -> Iterator[DecidingLine]:
    yield from (*group.cause.old, *group.cause.new, *group.lines[0], *group.lines[1])


def _opening(scope: LineScope | None) -> tuple[Place, ...]:
    """Return the place of the line that opens a section or a virtual host; nothing without one."""
    return ((scope.path, scope.line),) if scope is not None and scope.line else ()


def _limited(undecided: list[NotDecided]) -> list[NotDecided]:
    """Return the first ones of *undecided*, with the number of the others."""
    found = undecided[:MAX_NAMED]
    if len(undecided) > MAX_NAMED:
        found.append(NotDecided(f"further lines that were not exercised: {len(undecided) - MAX_NAMED}"))
    return found
