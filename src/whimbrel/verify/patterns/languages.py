"""Comparison of two patterns as languages: the texts in which they are found.

Regular patterns are decided by their automata: a search of pairs of states, breadth first, gives the
shortest text in which exactly one of them is found. For the rest, texts at all boundaries are tried.
"""

from __future__ import annotations

import time
from collections import deque
from enum import Enum
from functools import lru_cache
from typing import Final

from whimbrel.access.patterns import classes
from whimbrel.access.patterns.automaton import (
    DEAD,
    MATCHED,
    Alphabet,
    NoAutomaton,
    PatternAutomaton,
    TooLarge,
)
from whimbrel.access.patterns.boundaries import boundary_samples
from whimbrel.access.patterns.syntax import Tree, UnknownSyntax, irregular_part, parse_pattern
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.regex import Regex, RegexError, compile_regex

MAX_PAIRS: Final = 20_000
"""Pairs of states that one comparison visits."""
MAX_SECONDS: Final = 5.0
"""Processor time for the samples of one comparison; the bounds of automata are those of automaton.py."""
MAX_EXAMPLES: Final = 3
"""Texts of each direction that a comparison returns."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as a directive has it; *is_negated*: it holds where the pattern is not found."""

    text: str
    ignore_case: bool = False
    is_negated: bool = False
    version22: bool = False

    @property
    def compiled(self) -> Regex:
        """The expression that requests are matched with."""
        return compile_regex(self.text, ignore_case=self.ignore_case, version22=self.version22)

    def holds(self, subject: str) -> bool:
        """Return True if the pattern holds for *subject*."""
        return (self.compiled.search(subject) is not None) is not self.is_negated

    def tree(self) -> Tree:
        """Return the syntax tree."""
        return parse_pattern(self.text, ignore_case=self.ignore_case, version22=self.version22)


@dataclass(frozen=True, slots=True)
class Subjects:
    """The texts that a pattern can meet: those that *pattern* is found in, of the bytes *members*."""

    pattern: str = ""
    members: int = classes.ANY


_ALL: Final = Subjects()


class Relation(Enum):
    """The result of a comparison."""

    EQUAL = "equal"
    DIFFERENT = "different"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class LanguageComparison:
    """The relation of two patterns.

    Attributes:
        first_only: texts for which the first pattern alone holds, a shortest one first.
        second_only: the same of the second pattern.
        reason: why the patterns are not decided, else "".
        is_identical: the patterns have one meaning, part by part: groups capture the same texts, too.
    """

    relation: Relation
    first_only: tuple[str, ...] = ()
    second_only: tuple[str, ...] = ()
    reason: str = ""
    is_identical: bool = False

    @property
    def samples(self) -> tuple[str, ...]:
        """Texts for which exactly one pattern holds."""
        return (*self.first_only, *self.second_only)


@lru_cache(maxsize=4096)
def compare_patterns(
    first: Pattern, second: Pattern, subjects: Subjects = _ALL, *, max_pairs: int = MAX_PAIRS
) -> LanguageComparison:
    """Return the relation of two patterns over *subjects*; no pattern makes it raise."""
    try:
        for pattern in (first, second):
            compile_regex(pattern.text, ignore_case=pattern.ignore_case, version22=pattern.version22)
    except RegexError as problem:
        return LanguageComparison(Relation.NOT_DECIDED, reason=f"a pattern is invalid: {problem}")
    trees: list[Tree] = []
    reason = ""
    for pattern in (first, second):
        try:
            trees.append(pattern.tree())
        except UnknownSyntax as problem:
            reason = str(problem)
    if first == second or (
        len(trees) == 2 and trees[0] == trees[1] and first.is_negated is second.is_negated
    ):
        return LanguageComparison(Relation.EQUAL, is_identical=True)
    if not reason:
        reason = next((part for tree in trees if (part := irregular_part(tree))), "")
    if not reason:
        try:
            return _confirmed(first, second, _decided((first, second), trees, subjects, max_pairs))
        except (NoAutomaton, TooLarge) as problem:
            reason = str(problem)
    return _sampled(first, second, trees, subjects, reason)


def _decided(
    patterns: tuple[Pattern, Pattern], trees: list[Tree], subjects: Subjects, max_pairs: int
) -> LanguageComparison:
    around = parse_pattern(subjects.pattern)
    alphabet = Alphabet([*trees, around], subjects.members)
    automata = [PatternAutomaton(tree, alphabet) for tree in (*trees, around)]
    search = _Separation(automata, (patterns[0].is_negated, patterns[1].is_negated), alphabet, max_pairs)
    search.run()
    if not search.is_complete and not any(search.found):
        raise TooLarge(f"more than {max_pairs} pairs of states")
    relation = Relation.DIFFERENT if any(search.found) else Relation.EQUAL
    return LanguageComparison(relation, tuple(search.found[0]), tuple(search.found[1]))


_Triple = tuple[int, int, int]


class _Separation:
    """The breadth-first search for texts that exactly one of two automata accepts, and a third one, too."""

    def __init__(
        self,
        automata: list[PatternAutomaton],
        negations: tuple[bool, bool],
        alphabet: Alphabet,
        max_pairs: int,
    ) -> None:
        self.first, self.second, self.around = automata
        self.negations = negations
        self.alphabet = alphabet
        self.max_pairs = max_pairs
        self.found: tuple[list[str], list[str]] = ([], [])
        self.is_complete = True
        self._before: dict[_Triple, tuple[_Triple, int] | None] = {}

    def run(self) -> None:
        """Search until each direction has its texts, or all pairs are visited."""
        start = (self.first.start, self.second.start, self.around.start)
        self._before[start] = None
        waiting = deque([start])
        try:
            while waiting and not all(len(texts) >= MAX_EXAMPLES for texts in self.found):
                self._visit(waiting.popleft(), waiting)
        except TooLarge:
            if not any(self.found):
                raise
            self.is_complete = False

    def _visit(self, state: _Triple, waiting: deque[_Triple]) -> None:
        holds = self.first.accepts(state[0]) is not self.negations[0]
        if holds is (self.second.accepts(state[1]) is self.negations[1]) and self.around.accepts(state[2]):
            texts = self.found[0 if holds else 1]
            if len(texts) < MAX_EXAMPLES:
                texts.append(self._text(state))
        for number in range(len(self.alphabet.parts)):
            following = (
                self.first.step(state[0], number),
                self.second.step(state[1], number),
                self.around.step(state[2], number),
            )
            if following in self._before or self._is_settled(following):
                continue
            if len(self._before) >= self.max_pairs:
                raise TooLarge(f"more than {self.max_pairs} pairs of states")
            self._before[following] = (state, number)
            waiting.append(following)

    def _is_settled(self, state: _Triple) -> bool:
        """Return True if no longer text can separate."""
        if state[2] == DEAD:
            return True
        first, second, _ = state
        if first > MATCHED or second > MATCHED:
            return False
        return ((first == MATCHED) is not self.negations[0]) is ((second == MATCHED) is not self.negations[1])

    def _text(self, state: _Triple) -> str:
        letters: list[str] = []
        step = self._before[state]
        while step is not None:
            letters.append(chr(self.alphabet.samples[step[1]]))
            step = self._before[step[0]]
        return "".join(reversed(letters))


def _confirmed(first: Pattern, second: Pattern, found: LanguageComparison) -> LanguageComparison:
    """Return *found* if the matcher of requests agrees with its texts."""
    for texts, expected in ((found.first_only, True), (found.second_only, False)):
        for text in texts:
            if first.holds(text) is not expected or second.holds(text) is expected:
                return LanguageComparison(
                    Relation.NOT_DECIDED, reason="the matcher gives up, or disagrees with the automaton"
                )
    return found


def _sampled(
    first: Pattern, second: Pattern, trees: list[Tree], subjects: Subjects, reason: str
) -> LanguageComparison:
    """Return the relation as texts at the boundaries show it: different, or not decided."""
    around = compile_regex(subjects.pattern)
    deadline = time.thread_time() + MAX_SECONDS
    found: tuple[list[str], list[str]] = ([], [])
    for text in boundary_samples(trees):
        if time.thread_time() > deadline or all(len(texts) >= MAX_EXAMPLES for texts in found):
            break
        if not all(subjects.members >> ord(one) & 1 for one in text) or around.search(text) is None:
            continue
        holds = first.holds(text)
        if second.holds(text) is not holds and len(found[not holds]) < MAX_EXAMPLES:
            found[not holds].append(text)
    if any(found):
        shortest = [tuple(sorted(texts, key=len)) for texts in found]
        return LanguageComparison(Relation.DIFFERENT, shortest[0], shortest[1])
    return LanguageComparison(Relation.NOT_DECIDED, reason=reason)
