"""Deterministic automata of patterns, built state by state while a search visits them.

A state has a context, which is what assertions ask of the text before, and threads. A thread is a place in
the program of the pattern together with the lookaheads that are pending there. Lookaheads and lookbehinds
are automata themselves, so the answer is exact for them, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.access.patterns import classes
from whimbrel.access.patterns.syntax import (
    Anchor,
    Around,
    Capture,
    Chars,
    Choice,
    Irregular,
    Quantified,
    Tree,
)
from whimbrel.access.patterns.syntax import Sequence as Parts
from whimbrel.base.lazy_dataclasses import dataclass

MAX_INSTRUCTIONS: Final = 12_000
"""Instructions of one pattern, its repetitions written out."""
MAX_STATES: Final = 20_000
"""States of all automata of one pattern."""
MAX_THREADS: Final = 400_000
"""Threads that all states of one pattern have together: their memory."""
MAX_EFFORT: Final = 1_000_000
"""Visits of instructions while states are built: less than a second. A verdict depends on this bound, which
is the same on all machines."""
MAX_SECONDS: Final = 4.0
"""Processor time after which one automaton is given up, whatever its effort is."""
END: Final = -1
"""The end of the text, where a class of bytes is expected."""
DEAD: Final = 0
"""The state without threads: nothing matches any longer."""
MATCHED: Final = 1
"""The state of a search that has found a match: each longer text has it, too."""


class TooLarge(Exception):
    """The automaton exceeds a bound."""


class NoAutomaton(Exception):
    """No automaton of this module decides the pattern."""


@dataclass(frozen=True, slots=True)
class _Consume:
    members: int
    following: int


@dataclass(frozen=True, slots=True)
class _Split:
    following: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Check:
    kind: str
    following: int


@dataclass(frozen=True, slots=True)
class _Peek:
    """A lookahead or lookbehind: the automaton *number* of its kind."""

    number: int
    is_behind: bool
    is_negative: bool
    following: int


_Instruction = _Consume | _Split | _Check | _Peek | None
Pending = frozenset[tuple[int, int, bool]]
"""Pending lookaheads: number, state, and True if it must not match."""
Context = tuple[bool, bool, tuple[int, ...]]
"""At the start; behind a word's character; the states of all lookbehinds."""
_NOTHING: Final[Pending] = frozenset()
_MATCH: Final = 0
"""The address of the end of a program."""


class Alphabet:
    """The classes of bytes that several patterns cannot tell apart, numbered."""

    def __init__(self, trees: Sequence[Tree], universe: int = classes.ANY) -> None:
        sets: list[int] = []
        for tree in trees:
            sets += _sets_of(tree)
        self.parts = classes.partition(sets, universe)
        self.samples = [classes.members_of(part)[0] for part in self.parts]

    def classes_of(self, members: int) -> int:
        """Return the set of the numbers of the classes inside *members*."""
        return sum(1 << number for number, part in enumerate(self.parts) if part & members)


def _sets_of(tree: Tree) -> Iterator[int]:
    if isinstance(tree, Chars):
        yield tree.members
    elif isinstance(tree, Anchor):
        if tree.kind in ("word", "inner"):
            yield classes.WORD
    elif isinstance(tree, Parts | Choice):
        for part in tree.parts:
            yield from _sets_of(part)
    else:
        yield from _sets_of(tree.part)


class _Program:
    """The instructions of one tree; address 0 is the end, `start` the beginning."""

    def __init__(self, owner: PatternAutomaton, tree: Tree, *, is_search: bool) -> None:
        self.owner = owner
        self.code: list[_Instruction] = [None]
        self.start = self._emit(tree, _MATCH)
        if is_search:
            self.start = self._loop(Chars(classes.ANY), self.start)

    def _add(self, instruction: _Instruction) -> int:
        self.owner.count_instruction()
        self.code.append(instruction)
        return len(self.code) - 1

    def _loop(self, part: Tree, following: int) -> int:
        address = self._add(None)
        self.code[address] = _Split((self._emit(part, address), following))
        return address

    def _emit(self, tree: Tree, following: int) -> int:
        """Add the instructions of *tree*, which go on at *following*; return the address of the first."""
        self.owner.count_instruction()
        if isinstance(tree, Chars):
            return self._add(_Consume(self.owner.alphabet.classes_of(tree.members), following))
        if isinstance(tree, Parts):
            for part in reversed(tree.parts):
                following = self._emit(part, following)
            return following
        if isinstance(tree, Choice):
            return self._add(_Split(tuple(self._emit(part, following) for part in tree.parts)))
        if isinstance(tree, Capture):
            return self._emit(tree.part, following)
        if isinstance(tree, Anchor):
            return self._add(_Check(tree.kind, following))
        if isinstance(tree, Quantified):
            return self._repeat(tree, following)
        if isinstance(tree, Irregular):
            raise NoAutomaton(tree.reason)
        number = self.owner.around(tree)
        return self._add(_Peek(number, tree.is_behind, tree.is_negative, following))

    def _repeat(self, tree: Quantified, following: int) -> int:
        if tree.most is None:
            following = self._loop(tree.part, following)
        else:
            end = following
            for _ in range(tree.most - tree.least):
                following = self._add(_Split((self._emit(tree.part, following), end)))
        for _ in range(tree.least):
            following = self._emit(tree.part, following)
        return following


class PatternAutomaton:
    """The automaton of the texts in which a pattern is found; *alphabet* has its classes of bytes.

    `step` and `accepts` work on numbers of states; `start` is the first one.
    """

    def __init__(
        self, tree: Tree, alphabet: Alphabet, *, is_search: bool = True, seconds: float = MAX_SECONDS
    ) -> None:
        self.alphabet = alphabet
        self.instructions = 0
        self.states = 0
        self.threads = 0
        self.word = alphabet.classes_of(classes.WORD)
        self.aheads: list[_Lazy] = []
        self.behinds: list[_Lazy] = []
        self._known: dict[Around, int] = {}
        self.effort = 0
        self._checked = 0
        self.deadline = time.thread_time() + seconds
        program = _Program(self, tree, is_search=is_search)
        self.root = _Lazy(self, program, is_behind=False)
        behind = tuple(one.first((True, False, ())) for one in self.behinds)
        self.start = self.root.first((True, False, behind))

    def count_instruction(self) -> None:
        """Count an instruction, or a part without one: empty parts that are repeated take time, too."""
        self.instructions += 1
        if self.instructions > MAX_INSTRUCTIONS:
            raise TooLarge(f"more than {MAX_INSTRUCTIONS} instructions")

    def around(self, tree: Around) -> int:
        """Return the number of the automaton of a lookahead or lookbehind."""
        known = self._known.get(tree)
        if known is not None:
            return known
        if tree.is_behind:
            if _has_forward(tree.part):
                raise NoAutomaton("a lookbehind with assertions in it")
            program = _Program(self, tree.part, is_search=True)
            self.behinds.append(_Lazy(self, program, is_behind=True))
            number = len(self.behinds) - 1
        else:
            program = _Program(self, tree.part, is_search=False)
            self.aheads.append(_Lazy(self, program, is_behind=False))
            number = len(self.aheads) - 1
        self._known[tree] = number
        return number

    def spend(self, effort: int) -> None:
        """Count *effort*; raise TooLarge beyond the bounds of effort and time."""
        self.effort += effort
        if self.effort < self._checked:
            return
        self._checked = self.effort + 10_000
        if self.effort > MAX_EFFORT or time.thread_time() > self.deadline:
            raise TooLarge("an automaton that takes too long")

    def step(self, state: int, number: int) -> int:
        """Return the state behind a byte of class *number*."""
        return self.root.step(state, number)

    def accepts(self, state: int) -> bool:
        """Return True if a text that ends in *state* has a match."""
        return self.root.accepts(state)


def _has_forward(tree: Tree) -> bool:
    """Return True if *tree* has an assertion about the text behind it."""
    if isinstance(tree, Anchor):
        return tree.kind != "start"
    if isinstance(tree, Around):
        return True
    if isinstance(tree, Chars):
        return False
    parts = tree.parts if isinstance(tree, Parts | Choice) else (tree.part,)
    return any(map(_has_forward, parts))


_State = tuple[Context, frozenset[tuple[int, Pending]]]


class _Lazy:
    """The automaton of one program; its states are numbered in the order of their discovery."""

    def __init__(self, owner: PatternAutomaton, program: _Program, *, is_behind: bool) -> None:
        self.owner = owner
        self.code = program.code
        self.begin = program.start
        self.is_behind = is_behind
        none: Context = (False, False, ())
        self._states: list[_State] = [(none, frozenset()), (none, frozenset())]
        self._numbers: dict[_State, int] = {}
        self._steps: dict[tuple[int, int], int] = {}
        self._ends: dict[int, bool] = {DEAD: False, MATCHED: True}
        self._paths: dict[tuple[int, Context, int], tuple[list[tuple[int, int, Pending]], list[Pending]]] = {}

    def first(self, context: Context) -> int:
        """Return the state before any byte."""
        return self._number((context, frozenset([(self.begin, _NOTHING)])))

    def _number(self, state: _State) -> int:
        known = self._numbers.get(state)
        if known is not None:
            return known
        self.owner.states += 1
        self.owner.threads += len(state[1])
        if self.owner.states > MAX_STATES or self.owner.threads > MAX_THREADS:
            raise TooLarge(f"more than {MAX_STATES} states")
        self._states.append(state)
        self._numbers[state] = len(self._states) - 1
        return len(self._states) - 1

    def step(self, state: int, number: int) -> int:
        """Return the state behind a byte of class *number*."""
        if state <= MATCHED:
            return state
        key = (state, number)
        known = self._steps.get(key)
        if known is None:
            known = self._step(self._states[state], number)
            self._steps[key] = known
        return known

    def accepts(self, state: int) -> bool:
        """Return True if the text may end in *state*."""
        known = self._ends.get(state)
        if known is None:
            known = self._accepts(self._states[state])
            self._ends[state] = known
        return known

    def _accepts(self, state: _State) -> bool:
        context, threads = state
        for address, pending in threads:
            if not self._hold_at_end(pending):
                continue
            _, matches = self._paths_from(address, context, END)
            if any(self._hold_at_end(more) for more in matches):
                return True
        return False

    def _hold_at_end(self, pending: Pending) -> bool:
        return all(self.owner.aheads[one].accepts(state) is not negative for one, state, negative in pending)

    def _step(self, state: _State, number: int) -> int:
        context, threads = state
        found: set[tuple[int, Pending]] = set()
        for address, pending in threads:
            stepped = self._after(pending, number)
            if stepped is None:
                continue
            leaves, matches = self._paths_from(address, context, number)
            self.owner.spend(1 + len(leaves))
            for members, following, more in leaves:
                if members >> number & 1:
                    self._add(found, following, stepped, self._after(more, number))
            if self.is_behind:
                continue
            for more in matches:
                self._add(found, _MATCH, stepped, self._after(more, number))
        if (_MATCH, _NOTHING) in found and not self.is_behind:
            return MATCHED
        if not found:
            return DEAD
        is_word = bool(self.owner.word >> number & 1)
        behind = tuple(
            one.step(before, number) for one, before in zip(self.owner.behinds, context[2], strict=False)
        )
        return self._number(((False, is_word, behind), _without_weaker(found)))

    @staticmethod
    def _add(found: set[tuple[int, Pending]], address: int, before: Pending, after: Pending | None) -> None:
        if after is not None:
            found.add((address, before | after if after else before))

    def _after(self, pending: Pending, number: int) -> Pending | None:
        """Return the lookaheads that remain pending behind a byte; None if one has failed."""
        if not pending:
            return pending
        remaining = []
        for one, state, negative in pending:
            following = self.owner.aheads[one].step(state, number)
            if following == (MATCHED if negative else DEAD):
                return None
            if following > MATCHED:
                remaining.append((one, following, negative))
        return frozenset(remaining)

    def _paths_from(
        self, address: int, context: Context, number: int
    ) -> tuple[list[tuple[int, int, Pending]], list[Pending]]:
        """Return what can be consumed from *address* before a byte of class *number*, and the ends that are
        reached; each with the lookaheads that begin on the path."""
        is_word = number != END and bool(self.owner.word >> number & 1)
        key = (address, context, END if number == END else int(is_word))
        known = self._paths.get(key)
        if known is None:
            known = self._walk(address, context, number == END, is_word)
            self._paths[key] = known
        return known

    def _walk(
        self, address: int, context: Context, is_end: bool, is_word: bool
    ) -> tuple[list[tuple[int, int, Pending]], list[Pending]]:
        leaves: list[tuple[int, int, Pending]] = []
        ends: list[Pending] = []
        seen = {(address, _NOTHING)}
        waiting = [(address, _NOTHING)]
        while waiting:
            at, pending = waiting.pop()
            instruction = self.code[at]
            if instruction is None:
                ends.append(pending)
                continue
            if isinstance(instruction, _Consume):
                leaves.append((instruction.members, instruction.following, pending))
                continue
            following: tuple[int, ...]
            if isinstance(instruction, _Split):
                following = instruction.following
            elif isinstance(instruction, _Check):
                holds = _holds(instruction.kind, context, is_end, is_word)
                following = (instruction.following,) if holds else ()
            else:
                more = self._peek(instruction, context)
                following = () if more is None else (instruction.following,)
                pending = pending | (more or _NOTHING)
            for one in following:
                if (one, pending) not in seen:
                    seen.add((one, pending))
                    waiting.append((one, pending))
        self.owner.spend(4 * len(seen))
        return leaves, ends

    def _peek(self, instruction: _Peek, context: Context) -> Pending | None:
        """Return the lookahead that begins; None if a lookbehind does not hold."""
        if instruction.is_behind:
            behind = self.owner.behinds[instruction.number]
            holds = behind.ends_in(context[2][instruction.number])
            return _NOTHING if holds is not instruction.is_negative else None
        state = self.owner.aheads[instruction.number].first(context)
        return frozenset([(instruction.number, state, instruction.is_negative)])

    def ends_in(self, state: int) -> bool:
        """Return True if the text before has a match that ends in *state*, for a lookbehind."""
        context, threads = self._states[state]
        return any(self._paths_from(address, context, END)[1] for address, _ in threads)


def _holds(kind: str, context: Context, is_end: bool, is_word: bool) -> bool:
    is_start, was_word, _ = context
    if kind == "start":
        return is_start
    if kind == "end":
        return is_end
    return (was_word is not is_word) is (kind == "word")


def _without_weaker(threads: set[tuple[int, Pending]]) -> frozenset[tuple[int, Pending]]:
    """Return *threads* without the ones that another at the same address with fewer lookaheads covers."""
    if all(not pending for _, pending in threads):
        return frozenset(threads)
    by_address: dict[int, list[Pending]] = {}
    for address, pending in threads:
        by_address.setdefault(address, []).append(pending)
    return frozenset(
        (address, pending)
        for address, pending in threads
        if not any(other < pending for other in by_address[address])
    )
