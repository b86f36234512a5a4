"""Proven upper bounds on the steps that a backtracking matcher takes, as a polynomial in the length of the
subject.

The proof covers literals, classes, groups, alternatives, bounded repetitions, and unbounded repetitions of
single characters. A pattern with anything else, such as a repeated group, has no bound here.
"""

from __future__ import annotations

import re
from re import _parser  # type: ignore[attr-defined]  # the parser of the expressions whose steps are counted
from typing import Any, Final, NamedTuple

_END: Final = 1 << 256  # the place behind the last character, as one more member of a set of characters
_ANY: Final = _END - 1
_EVERYTHING: Final = _ANY | _END
_NEWLINE: Final = 1 << 10


def _members(members: str) -> int:
    return sum(1 << ord(c) for c in members)


_DIGITS: Final = _members("0123456789")
_SPACES: Final = _members(" \t\n\r\f\v")
_WORDS: Final = _DIGITS | _members("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": _DIGITS,
    "CATEGORY_SPACE": _SPACES,
    "CATEGORY_WORD": _WORDS,
    "CATEGORY_NOT_DIGIT": _ANY ^ _DIGITS,
    "CATEGORY_NOT_SPACE": _ANY ^ _SPACES,
    "CATEGORY_NOT_WORD": _ANY ^ _WORDS,
}


class Polynomial(NamedTuple):
    """`factor` times the length of the subject to the power of `degree`."""

    factor: int
    degree: int

    def plus(self, other: Polynomial) -> Polynomial:
        return Polynomial(self.factor + other.factor, max(self.degree, other.degree))

    def times(self, other: Polynomial) -> Polynomial:
        return Polynomial(self.factor * other.factor, self.degree + other.degree)

    def longest(self, steps: int) -> int:
        """Return the greatest length for which the value is at most *steps*, at most 1 << 20."""
        if not self.degree:
            return 1 << 20 if self.factor <= steps else 0
        length = int((steps / self.factor) ** (1 / self.degree)) if self.factor <= steps else 0
        return min(length, 1 << 20)


ONE: Final = Polynomial(1, 0)


class _Bound(NamedTuple):
    """`cost`: steps of an attempt; `ways`: attempts at the rest; `first`: next characters, `_END`: none."""

    cost: Polynomial
    paths: Polynomial
    first: int


class _Unproven(Exception):
    pass


def search_cost(pattern: str, flags: re.RegexFlag) -> tuple[Polynomial, bool] | None:
    """Return the steps of a search, and True if a match can only begin at the start; None without a proof.

    *pattern* must compile under *flags*, which must have ASCII and must not have MULTILINE.
    """
    tree = _parser.parse(pattern, flags)
    try:
        cost = _Proof(flags).sequence(tree, _EVERYTHING).cost
    except _Unproven:
        return None
    is_anchored = _is_anchored(tree)
    return cost if is_anchored else cost.times(Polynomial(1, 1)), is_anchored


class Scan(NamedTuple):
    """A pattern without assertions that matches at least one character.

    Attributes:
        pattern: the compiled expression.
        cost: steps of one attempt, as a function of the length of the subject.
        prefix: the characters with which each match begins.
        is_literal: the prefix is the whole pattern.
        has_newline: a match may contain a newline.
    """

    pattern: re.Pattern[str]
    cost: Polynomial
    prefix: str
    is_literal: bool
    has_newline: bool


def scan_of(pattern: str, flags: re.RegexFlag) -> Scan | None:
    """Return the scan of *pattern*; None without a proof, or if it has assertions or may match nothing."""
    tree = _parser.parse(pattern, flags)
    proof = _Proof(flags)
    try:
        characters, has_assertion = _alphabet(proof, tree)
        cost = proof.sequence(tree, _EVERYTHING).cost
    except _Unproven:
        return None
    if has_assertion or tree.getwidth()[0] < 1:
        return None
    prefix = ""
    for name, value in [] if proof.folds else tree:
        if str(name) != "LITERAL":
            break
        prefix += chr(value)
    is_literal = len(prefix) == len(tree)
    return Scan(re.compile(pattern, flags), cost, prefix, is_literal, bool(characters & _NEWLINE))


def _alphabet(proof: _Proof, items: Any) -> tuple[int, bool]:
    """Return the set of characters that *items* match, and True if one of them is an assertion."""
    characters = 0
    has_assertion = False
    for name, value in items:
        kind = str(name)
        if kind in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            characters |= proof.characters(kind, value)
            continue
        if kind == "SUBPATTERN":
            parts = [value[3]]
        elif kind == "BRANCH":
            parts = value[1]
        elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
            parts = [value[2]]
        else:
            has_assertion = True
            continue
        for part in parts:
            more, also = _alphabet(proof, part)
            characters, has_assertion = characters | more, has_assertion or also
    return characters, has_assertion


def _is_anchored(tree: Any) -> bool:
    if not len(tree):
        return False
    name = str(tree[0][0])
    value = tree[0][1]
    if name == "SUBPATTERN":
        return _is_anchored(value[3])
    if name == "BRANCH":
        return all(_is_anchored(branch) for branch in value[1])
    return name == "AT" and str(value) in ("AT_BEGINNING", "AT_BEGINNING_STRING")


class _Proof:
    def __init__(self, flags: re.RegexFlag) -> None:
        self.folds = bool(flags & re.IGNORECASE)
        self.any = _ANY if flags & re.DOTALL else _ANY ^ _NEWLINE

    def sequence(self, items: Any, follow: int) -> _Bound:
        """Return the bound of the sequence *items*; *follow* is what may come next."""
        cost = ONE
        walks = ONE
        for name, value in reversed(list(items)):
            bound = self.item(str(name), value, follow)
            cost, walks, follow = (
                bound.cost.plus(bound.paths.times(cost)),
                bound.paths.times(walks),
                bound.first,
            )
        return _Bound(cost, walks, follow)

    def item(self, name: str, value: Any, follow: int) -> _Bound:
        if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            return _Bound(ONE, ONE, self.characters(name, value))
        if name == "AT":
            at_end = {"AT_END_STRING": _END, "AT_END": _END | _NEWLINE}.get(str(value), _EVERYTHING)
            return _Bound(ONE, ONE, follow & at_end)
        if name == "SUBPATTERN" and not value[1] and not value[2]:
            return self.sequence(value[3], follow)
        if name == "BRANCH":
            return self.branch([self.sequence(branch, follow) for branch in value[1]])
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            return self.repeat(value, follow)
        raise _Unproven

    @staticmethod
    def branch(bounds: list[_Bound]) -> _Bound:
        cost, walks, first = bounds[0]
        for bound in bounds[1:]:
            more = bound.paths
            walks = (
                Polynomial(max(walks.factor, more.factor), max(walks.degree, more.degree))
                if not first & bound.first
                else walks.plus(more)
            )
            cost, first = cost.plus(bound.cost), first | bound.first
        return _Bound(cost, walks, first)

    def repeat(self, value: Any, follow: int) -> _Bound:
        least, most, body = value
        single = _single(body)
        unbounded = most is _parser.MAXREPEAT
        if single is not None:
            first = self.characters(*single)
            cost = Polynomial(1, 1) if unbounded else Polynomial(max(most, 1), 0)
            if not first & follow:
                walks = ONE
            elif unbounded:
                walks = Polynomial(1, 1)
            else:
                walks = Polynomial(most - least + 1, 0)
            return _Bound(cost, walks, first if least else first | follow)
        if unbounded:
            raise _Unproven
        bound = self.sequence(body, follow)
        if most > 1:
            bound = self.sequence(body, follow | bound.first)
        rounds = ONE
        cost = ONE
        walks = Polynomial(0, 0)
        for count in range(most + 1):
            if count >= least:
                walks = walks.plus(rounds)
            if count < most:
                cost, rounds = cost.plus(rounds.times(bound.cost)), rounds.times(bound.paths)
            if rounds.factor > 1 << 30:
                raise _Unproven
        return _Bound(cost, walks, bound.first if least else bound.first | follow)

    def characters(self, name: str, value: Any) -> int:
        """Return the set of characters that one item matches."""
        if name == "ANY":
            return self.any
        if name != "IN":
            cached = self.folded(1 << value)
            return _ANY & ~cached if name == "NOT_LITERAL" else cached
        cached = 0
        negated = False
        for kind, member in value:
            kind = str(kind)
            if kind == "NEGATE":
                negated = True
            elif kind == "LITERAL":
                cached |= 1 << member
            elif kind == "RANGE":
                cached |= (1 << (member[1] + 1)) - (1 << member[0])
            elif kind == "CATEGORY":
                cached |= _CATEGORIES[str(member)]
            else:
                raise _Unproven
        cached = self.folded(cached)
        return _ANY & ~cached if negated else cached

    def folded(self, characters: int) -> int:
        if not self.folds:
            return characters
        upper = 0x7FFFFFE << 64
        lower = 0x7FFFFFE << 96
        return characters | (characters & upper) << 32 | (characters & lower) >> 32


def _single(body: Any) -> tuple[str, Any] | None:
    """Return the name and value of the item of one character that is all of *body*, which `re` repeats
    without recursion; None where it is more.
    """
    if len(body) != 1:
        return None
    name = str(body[0][0])
    value = body[0][1]
    if name == "SUBPATTERN" and value[0] is None and not value[1] and not value[2]:
        return _single(value[3])
    return (name, value) if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY") else None
