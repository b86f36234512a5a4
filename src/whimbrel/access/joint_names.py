"""Names of files in a directory for each set of patterns that one name can match together.

Sections about names are merged in one order whether or not a file has such a name: backups of editors and
uploads may come to exist at any time. A search of the product of all automata gives the shortest name of each
set, so that no set is missed. A name may have spaces and bytes that are not ASCII.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from whimbrel.access.patterns import classes
from whimbrel.access.patterns.automaton import (
    DEAD,
    Alphabet,
    NoAutomaton,
    PatternAutomaton,
    TooLarge,
)
from whimbrel.access.patterns.syntax import UnknownSyntax, parse_pattern
from whimbrel.access.samples import regex_samples
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.regex import Regex

MAX_STATES: Final = 3000
"""The states that the search of one directory visits."""
MAX_SEARCHES: Final = 64
"""The searches of one object; directories whose paths have the same effect on the patterns share one."""
MAX_JOINED: Final = 3000
"""The names made of samples that are tried where a pattern has no automaton."""
_SAMPLES: Final = 3
"""The samples of a pattern that are joined."""
MAX_NAMES: Final = 128
"""The names that one search returns."""
_NAME_SHAPE: Final = r"\A(?!\.{1,2}\z)[^/]+\z"
"""A name of a file."""
_UNLIMITED: Final = float("inf")
"""The time of an automaton, which lives as long as the object: its effort is bounded."""
_BYTES: Final = classes.span(1, 255) & ~classes.NEWLINE
"""The bytes of names. A newline is left out: 2.2 and 2.4 read `.` and `$` there otherwise, which is a
difference of each pattern alone."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern that is searched in the name of a file, or in a text that ends with the name.

    Attributes:
        regex: the compiled pattern.
        before: the kind of the text before the name, as a key of `JointNames.of`; "" for none.
    """

    regex: Regex
    before: str = ""

    @property
    def key(self) -> tuple[str, str, bool]:
        """What tells two patterns apart."""
        return self.before, self.regex.pattern, self.regex.ignore_case

    def matches(self, name: str, before: dict[str, str]) -> bool:
        """Return True if the pattern is found in the text that ends with *name*."""
        return self.regex.search(before.get(self.before, "") + name) is not None


class JointNames:
    """The sets of *patterns* that names of files match together.

    Attributes:
        is_complete: no bound was hit, and each pattern has an automaton: no set is missed.
    """

    def __init__(self, patterns: Iterable[NamePattern]) -> None:
        self.patterns = list({one.key: one for one in patterns}.values())
        self.is_complete = True
        self._found: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._automata: list[PatternAutomaton] = []
        self._classes = [0] * 256
        self._build()

    def of(self, before: dict[str, str], known: Sequence[str] = ()) -> tuple[str, ...]:
        """Return a name for each set of patterns that no name of *known* has, the shortest names first.

        *before*: the text before the name by the kinds of `NamePattern.before`, such as a URL path.
        """
        if not self.patterns:
            return ()
        sets = {self._set_of(name, before) for name in known}
        found = {self._set_of(name, before): name for name in reversed(self._names(before))}
        return tuple(name for one, name in reversed(list(found.items())) if one not in sets)

    def _set_of(self, name: str, before: dict[str, str]) -> tuple[bool, ...]:
        return tuple(one.matches(name, before) for one in self.patterns)

    def _build(self) -> None:
        """Build the automata; without them the patterns are joined by their samples."""
        try:
            trees = [
                parse_pattern(one.regex.pattern, ignore_case=one.regex.ignore_case) for one in self.patterns
            ]
            shape = parse_pattern(_NAME_SHAPE)
            alphabet = Alphabet([shape, *trees], _BYTES)
            self._automata = [
                PatternAutomaton(tree, alphabet, seconds=_UNLIMITED) for tree in (shape, *trees)
            ]
        except (UnknownSyntax, NoAutomaton, TooLarge):
            self._automata = []
            self.is_complete = False
            return
        for number, part in enumerate(alphabet.parts):
            for byte in classes.members_of(part):
                self._classes[byte] = number
        self._samples = [chr(one) for one in alphabet.samples]

    def _names(self, before: dict[str, str]) -> tuple[str, ...]:
        if not self._automata:
            return tuple(self._joined_samples(before))
        try:
            start = self._start(before)
        except TooLarge:
            self.is_complete = False
            return tuple(self._joined_samples(before))
        known = self._found.get(start)
        if known is None:
            if len(self._found) >= MAX_SEARCHES:
                self.is_complete = False
                return next(iter(self._found.values()))
            known = tuple(self._search(start))
            self._found[start] = known
        return known

    def _start(self, before: dict[str, str]) -> tuple[int, ...]:
        """Return the states of all automata behind the texts before the name."""
        states = [self._automata[0].start]
        for pattern, automaton in zip(self.patterns, self._automata[1:], strict=True):
            state = automaton.start
            for character in before.get(pattern.before, "") if pattern.before else "":
                state = automaton.step(state, self._classes[ord(character) & 255])
            states.append(state)
        return tuple(states)

    def _search(self, start: tuple[int, ...]) -> Iterator[str]:
        """Yield the shortest name of each set of patterns, breadth first from the states *start*."""
        seen = {start}
        waiting = deque([(start, "")])
        sets: set[tuple[bool, ...]] = set()
        numbers = range(len(self._samples))
        try:
            while waiting:
                states, name = waiting.popleft()
                if self._automata[0].accepts(states[0]):
                    matched = tuple(
                        automaton.accepts(state)
                        for automaton, state in zip(self._automata[1:], states[1:], strict=True)
                    )
                    if matched not in sets:
                        sets.add(matched)
                        yield name
                        if len(sets) >= MAX_NAMES:
                            raise TooLarge(f"more than {MAX_NAMES} names")
                for number in numbers:
                    after = tuple(
                        automaton.step(state, number)
                        for automaton, state in zip(self._automata, states, strict=True)
                    )
                    if after[0] == DEAD or after in seen:
                        continue
                    if len(seen) >= MAX_STATES:
                        raise TooLarge(f"more than {MAX_STATES} states")
                    seen.add(after)
                    waiting.append((after, name + self._samples[number]))
        except TooLarge:
            self.is_complete = False

    def _joined_samples(self, before: dict[str, str]) -> Iterator[str]:
        """Yield samples of patterns, and names made of samples of two, that match at least one pattern."""
        samples = [
            text.rpartition("/")[2]
            for one in self.patterns
            for text in regex_samples(one.regex.pattern)[:_SAMPLES]
        ]
        pairs = (start + end for start in samples for end in samples)
        for name in islice(chain(samples, pairs), MAX_JOINED):
            if name not in ("", ".", "..") and any(self._set_of(name, before)):
                yield name
