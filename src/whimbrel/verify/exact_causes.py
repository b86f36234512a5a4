"""The lines that a difference between two versions rests on: without them both answer alike.

Every line may do something else under another version, so no comparison of the texts tells which one does. A
line that both sides have is removed from both. Bounds: requests and loaded lines, in one verification.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause, Causes, PlanPair, ServerKey
from whimbrel.verify.config_lines import ConfigLine, lines_of
from whimbrel.verify.coverage.without_line import RemovalBudget, side_without
from whimbrel.verify.difference import Difference
from whimbrel.verify.probe import Probe
from whimbrel.verify.program_sources import SOURCE
from whimbrel.verify.side import Side

BUDGET: Final = RemovalBudget(requests=500, loaded=100_000)
"""What all causes of one verification may ask and load."""
OF_CHECKS: Final = RemovalBudget(requests=100, loaded=40_000)
"""What it may ask and load to check causes that the texts and the directives show."""
MAX_DECISIVE: Final = 8
"""Sets of lines that decided a difference, which are tried first for others."""
MAX_WITHOUT: Final = 16
"""Sides without decisive lines that are kept, of at most MAX_STORED lines, and as many other ones."""
MAX_STORED: Final = 4000
_OF_MAPPING: Final = frozenset(("status", "location", "file", "handler", SOURCE, "demands on the back end"))
"""Parts of answers that lines decide without which nothing may be served."""
AnswerOf = Callable[[Side, Probe], Answer]
"""Returns the answer of a whole side."""
LinePair = tuple[ConfigLine | None, ConfigLine | None]
"""A line of each side that is removed together; None where a side has none."""


_OF_LOADING: Final = frozenset(("typesconfig", "loadmodule", "listen", "serverroot", "user", "group"))
"""Directives without which a configuration may not load."""
_SWITCHES: Final = frozenset(("rewriteengine", "rewritebase", "expiresactive", "options"))
"""Directives without which others do nothing: those others are tried before them."""


class NotKnown(Exception):
    """The bounds are reached, or a side without the lines does not load: the lines are not known."""


@dataclass(slots=True)
class _Spent:
    """What of a budget is used."""

    budget: RemovalBudget
    requests: int = 0
    loaded: int = 0

    def take(self, lines: int) -> None:
        """Count one request and the *lines* that are loaded for it; raises NotKnown if there is no budget."""
        self.requests += 1
        self.loaded += lines
        if self.requests > self.budget.requests or self.loaded > self.budget.loaded:
            raise NotKnown


class ExactCauses:
    """The exact causes of one verification.

    Key: the parts that differ, the lines that may decide them, and the method. Value: the lines that decide.
    Validity: the two sides, and requests that do not differ without these lines. Bound: those that the budget
    allows.
    """

    def __init__(
        self,
        causes: Causes,
        compare: Callable[[Answer, Answer], Difference | None],
        answer: AnswerOf = Side.answer,
    ) -> None:
        self._causes = causes
        self._compare = compare
        self._answer = answer
        self._spent = _Spent(BUDGET)
        self._checked = _Spent(OF_CHECKS)
        self._sides = tuple(lines.side for lines in causes.sides)
        self._counts = [sum(1 for _ in lines_of(lines.scopes)) for lines in causes.sides]
        self._known: dict[object, list[LinePair]] = {}
        self._decisive: BoundedDict[tuple[LinePair, ...], None] = BoundedDict(MAX_DECISIVE)
        self._stored: set[tuple[int, tuple[ConfigLine, ...]]] = set()
        self._without: BoundedDict[tuple[int, tuple[ConfigLine, ...]], Side] = BoundedDict(MAX_WITHOUT)
        self._tried: BoundedDict[tuple[int, tuple[ConfigLine, ...]], Side] = BoundedDict(MAX_WITHOUT)

    def cause(
        self,
        probe: Probe,
        difference: Difference,
        plans: PlanPair,
        *,
        servers: tuple[ServerKey, ServerKey],
        has_equal_access: bool,
    ) -> Cause | None:
        """Return the cause of *difference* between the answers to *probe*: without lines if none decides it,
        None if the budget does not tell. The other arguments are those of `Causes.cause`.
        """
        likely, others = self._causes.concerned(
            difference, plans, servers=servers, has_equal_access=has_equal_access
        )
        pairs = _paired(self._causes, *likely)
        key = (difference.names[:2], tuple(pairs), probe.method)
        known = self._known.get(key)
        try:
            if known is not None and self._holds(probe, difference, known):
                return self._of_pairs(_with_counterparts(known, pairs))
            changed = [pair for pair in pairs if None in pair]
            deciding = self._deciding(probe, difference, changed) if len(changed) < len(pairs) else []
            if not deciding:
                deciding = self._deciding(probe, difference, pairs)
            further = [] if deciding else _paired(self._causes, *others)
            if not deciding:
                deciding = self._deciding(probe, difference, further)
            if not deciding:
                saying = (*pairs, *(pair for pair in further if _sets_field(pair, difference)))
                deciding = [pair for pair in saying if _says_value(pair, difference)]
        except NotKnown:
            return None
        self._known[key] = deciding
        return self._of_pairs(_with_counterparts(deciding, pairs))

    def decides(self, probe: Probe, difference: Difference, cause: Cause) -> bool | None:
        """Return True if *difference* vanishes without the lines of *cause*; None beyond OF_CHECKS, which
        counts apart from the other budget.
        """
        rows = []
        for lines, named in zip(self._causes.sides, (cause.old, cause.new), strict=True):
            places = {(line.path, line.line) for line in named}
            rows.append([line for line in lines_of(lines.scopes) if (line.path, line.line) in places])
        pairs = _paired(self._causes, *rows)
        if not pairs:
            return False
        spent = self._spent
        self._spent = self._checked
        try:
            return self._vanishes(probe, difference, pairs)
        except NotKnown:
            return None
        finally:
            self._spent = spent

    def _holds(self, probe: Probe, difference: Difference, pairs: list[LinePair]) -> bool:
        """Return True if *difference* vanishes without *pairs*, too; of large sides that is assumed."""
        return not pairs or max(self._counts) > MAX_STORED or self._vanishes(probe, difference, pairs)

    def _of_pairs(self, pairs: list[LinePair]) -> Cause:
        old, new = (list(_row(pairs, number)) for number in (0, 1))
        return self._causes.of_lines(old, new) if pairs else Cause((), ())

    def _deciding(self, probe: Probe, difference: Difference, pairs: list[LinePair]) -> list[LinePair]:
        """Return each pair without which the difference vanishes; a smallest part of *pairs* if that needs
        several. Empty if it stays without all of them.
        """
        for known in list(self._decisive):
            if set(known) <= set(pairs) and self._vanishes(probe, difference, known):
                return list(known)
        if not pairs or not self._vanishes(probe, difference, pairs, must_load=True):
            return []
        found = self._of_decisive(probe, difference, pairs)
        self._decisive[tuple(found)] = None
        self._stored.update((number, _row(found, number)) for number in (0, 1))
        return found

    def _of_decisive(self, probe: Probe, difference: Difference, pairs: list[LinePair]) -> list[LinePair]:
        """Return the same for *pairs* without which the difference vanishes."""
        if len(pairs) == 1:
            return pairs
        middle = len(pairs) // 2
        found: list[LinePair] = []
        for half in (pairs[:middle], pairs[middle:]):
            if self._vanishes(probe, difference, half):
                found += self._of_decisive(probe, difference, half)
        return found or self._smallest(probe, difference, pairs)

    def _smallest(self, probe: Probe, difference: Difference, pairs: list[LinePair]) -> list[LinePair]:
        """Return *pairs* without those that the difference does not need to vanish."""
        size = max(1, len(pairs) // 4)
        while True:
            at = 0
            while at < len(pairs):
                rest = [*pairs[:at], *pairs[at + size :]]
                if rest and self._vanishes(probe, difference, rest):
                    pairs = rest
                else:
                    at += size
            if size == 1:
                return pairs
            size //= 2

    def _vanishes(
        self, probe: Probe, difference: Difference, pairs: Sequence[LinePair], *, must_load: bool = False
    ) -> bool:
        """Return True if both sides without *pairs* agree in the first parts of *difference*.

        The status must stay where a field or the body alone differs: a line without which nothing is served
        decides neither. Raises NotKnown; also for a side that does not load if it *must_load*.
        """
        before = [self._answer(side, probe) for side in self._sides]
        after: list[Answer] = []
        for number, side in enumerate(self._sides):
            removed = _row(pairs, number)
            answer = self._answer_without(number, side, removed, probe) if removed else before[number]
            if answer is None and must_load:
                raise NotKnown
            if answer is None:
                return False
            after.append(answer)
        names = set(difference.names[:2])
        is_mapped = not names.isdisjoint(_OF_MAPPING)
        if not is_mapped and any(a.status != b.status for a, b in zip(before, after, strict=True)):
            return False
        left = self._compare(after[0], after[1])
        return left is None or {*names, "status"}.isdisjoint(left.names)

    def _answer_without(
        self, number: int, side: Side, lines: tuple[ConfigLine, ...], probe: Probe
    ) -> Answer | None:
        """Return the answer of *side* without *lines*, None if it does not load; raises NotKnown."""
        key = number, lines
        other = self._without.get(key)
        if other is None:
            self._spent.take(self._counts[number])  # whether it was tried: a bound of memory decides nothing
            other = self._tried.get(key) or side_without(side, lines)
            if other is None or not other.is_loaded:
                return None
            other.probing.assume_as(side.probing)
            if self._counts[number] <= MAX_STORED:
                stored = self._without if key in self._stored else self._tried
                stored[key] = other
        return other.answer(probe)


def _with_counterparts(deciding: list[LinePair], pairs: Sequence[LinePair]) -> list[LinePair]:
    """Return *deciding*, each line of one side with the only line of the same directive that the other side
    has in its place: that line sets what is missing there.
    """
    found: list[LinePair] = []
    for pair in deciding:
        number = 0 if pair[1] is None else 1
        line = pair[number]
        alike = [
            other
            for one in pairs
            if line is not None
            and one[number] is None
            and (other := one[1 - number]) is not None
            and other.name == line.name
        ]
        rows = [one[number] for one in pairs if one[1 - number] is None]
        is_only = sum(one is not None and line is not None and one.name == line.name for one in rows) == 1
        if None in pair and line is not None and len(alike) == 1 and is_only:
            found.append((line, alike[0]) if number == 0 else (alike[0], line))
        else:
            found.append(pair)
    return found


def _row(pairs: Sequence[LinePair], number: int) -> tuple[ConfigLine, ...]:
    """Return the lines of side *number*."""
    return tuple(line for pair in pairs if (line := pair[number]) is not None)


def _paired(causes: Causes, old: Sequence[ConfigLine], new: Sequence[ConfigLine]) -> list[LinePair]:
    """Return the lines, each with the equal one of the other side, switches last.

    Without a DocumentRoot of both, which every answer rests on, and without containers: their lines are
    removed one by one.
    """
    left: dict[object, list[ConfigLine]] = defaultdict(list)
    for line in filter(_is_removable, new):
        left[causes.key_of(line)].append(line)
    pairs: list[LinePair] = []
    for line in filter(_is_removable, old):
        same = left[causes.key_of(line)]
        other = same.pop(0) if same else None
        if other is None or line.name != "documentroot":
            pairs.append((line, other))
    pairs += [(None, line) for row in left.values() for line in row]
    return sorted(pairs, key=_is_switch)


def _says_value(pair: LinePair, difference: Difference) -> bool:
    """Return True for a line of one side that says the value there: it is the cause, even if the version has
    this value without it."""
    if None not in pair:
        return False
    part = difference.parts[0]
    values = [value.partition(";")[0].lower() for value in (part.old, part.new)]
    texts = zip(values, pair, strict=True)
    return any(line is not None and value in map(str.lower, line.words()) for value, line in texts)


def _sets_field(pair: LinePair, difference: Difference) -> bool:
    """Return True for a Header line about the field in which the answers differ."""
    fields = {difference.names[0], f"{difference.names[0]}:"}
    headers = (line for line in pair if line is not None and line.name == "header")
    return any(not fields.isdisjoint(map(str.lower, line.words())) for line in headers)


def _is_removable(line: ConfigLine) -> bool:
    return not line.spelled.startswith("<") and line.name not in _OF_LOADING


def _is_switch(pair: LinePair) -> bool:
    return any(line is not None and line.name in _SWITCHES for line in pair)
