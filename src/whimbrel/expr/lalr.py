"""Generator of the LALR automaton from the grammar.

httpd's messages ("unexpected X, expecting Y or Z") are those of its generated parser: the list depends on the
reductions made before the error.  So the same kind of automaton is generated here, with default reductions:
in each state at most one rule can be complete.  It is reduced whatever token follows, unless the token can be
shifted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.expr.grammar import PRECEDENCE, RULES, TOKENS, GrammarRule

Item = tuple[int, int]  # rule number, number of its parts that were read
_LEVEL: Final = {token: level for level, tokens in enumerate(PRECEDENCE) for token in tokens}
_MAX_EXPECTED: Final = 4


@dataclass(frozen=True, slots=True)
class LalrState:
    """A state: *shift* by token, *go* by rule name; *reduce* is the complete rule, or None; *expecting*: the
    tokens that messages list.
    """

    shift: dict[str, int]
    go: dict[str, int]
    reduce: GrammarRule | None
    expecting: tuple[str, ...]


def _closure(kernel: frozenset[Item]) -> set[Item]:
    """Return the closure of the items."""
    items = set(kernel)
    todo = list(kernel)
    while todo:
        number, seen = todo.pop()
        parts = RULES[number].parts
        if seen < len(parts):
            for other, rule in enumerate(RULES):
                if rule.name == parts[seen] and (other, 0) not in items:
                    items.add((other, 0))
                    todo.append((other, 0))
    return items


def _level(rule: GrammarRule) -> int | None:
    return next((_LEVEL[part] for part in reversed(rule.parts) if part in _LEVEL), None)


def _shiftable(token: str, complete: GrammarRule | None) -> bool:
    """Return True if *token* is shifted rather than *complete* reduced: the higher precedence wins, equal
    ones are right-associative.
    """
    level = None if complete is None else _level(complete)
    return level is None or token not in _LEVEL or _LEVEL[token] >= level


@lru_cache(maxsize=1)
def states() -> tuple[LalrState, ...]:
    """Return the automaton; its start state is 0."""
    terminals = set(TOKENS)
    kernels: list[frozenset[Item]] = [frozenset({(0, 0)})]
    numbers = {kernels[0]: 0}
    states_built: list[LalrState] = []
    while len(states_built) < len(kernels):
        items = _closure(kernels[len(states_built)])
        complete = next((RULES[number] for number, seen in items if seen == len(RULES[number].parts)), None)
        after: dict[str, set[Item]] = {}
        for number, seen in items:
            parts = RULES[number].parts
            if seen < len(parts) and _shiftable(parts[seen], complete):
                after.setdefault(parts[seen], set()).add((number, seen + 1))
        targets: dict[str, int] = {}
        for part, moved in after.items():
            kernel = frozenset(moved)
            if kernel not in numbers:
                numbers[kernel] = len(kernels)
                kernels.append(kernel)
            targets[part] = numbers[kernel]
        shift = {part: target for part, target in targets.items() if part in terminals}
        expecting = tuple(token for token in TOKENS if token in shift)
        states_built.append(
            LalrState(
                shift,
                {p: w for p, w in targets.items() if p not in terminals},
                complete,
                expecting if len(expecting) <= _MAX_EXPECTED else (),
            )
        )
    return tuple(states_built)
