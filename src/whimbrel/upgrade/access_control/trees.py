"""Decisions as trees of Require lines and containers, simplified, and written as short as can be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.access.layers import Line
from whimbrel.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Leaf:
    """One Require line without its first word: *kind* is the provider, *words* its arguments as written; *negated*: ``not``."""

    kind: str
    words: str = ""
    negated: bool = False

    @property
    def text(self) -> str:
        """What stands behind Require."""
        return f"{'not ' if self.negated else ''}{self.kind} {self.words}".rstrip()


@dataclass(frozen=True, slots=True)
class Node:
    """All or any of *parts*; an empty one is true or false."""

    every: bool
    parts: tuple[Tree, ...] = field(default=())


Tree = Leaf | Node
GRANTED: Final = Node(True)
DENIED: Final = Node(False)
_JOINING: Final = frozenset({"ip", "host", "env", "user", "group"})


def all_of(parts: Iterable[Tree]) -> Tree:
    """The conjunction, flattened; refused where one part always is."""
    return _joined(True, parts)


def any_of(parts: Iterable[Tree]) -> Tree:
    """The disjunction, flattened; granted where one part always is."""
    return _joined(False, parts)


def _joined(every: bool, parts: Iterable[Tree]) -> Tree:
    flat: dict[Tree, None] = {}
    end = DENIED if every else GRANTED
    for part in parts:
        if part == end:
            return end
        if isinstance(part, Node) and part.every is every:
            flat.update(dict.fromkeys(part.parts))
        else:
            flat[part] = None
    found = tuple(flat)
    return found[0] if len(found) == 1 else Node(every, found)


def inverted(tree: Tree) -> Tree:
    """The negation, driven down to the leaves."""
    if isinstance(tree, Leaf):
        return Leaf(tree.kind, tree.words, not tree.negated)
    return _joined(not tree.every, [inverted(part) for part in tree.parts])


# writing --------------------------------------------------------------------------------------------
def written(tree: Tree) -> tuple[Line, ...]:
    """The lines of a section that decides as *tree* does."""
    return tuple(_lines(tree, every=False))


def _require(text: str) -> Line:
    return Line("require", text)


def _lines(tree: Tree, *, every: bool) -> list[Line]:
    """*tree* inside of a container of the kind *every*."""
    if tree in (GRANTED, DENIED):
        return [_require("all granted" if tree == GRANTED else "all denied")]
    if isinstance(tree, Leaf):
        if tree.negated and not every:
            return [Line("requireall", "", None, (_require("all granted"), _require(tree.text)))]
        return [_require(tree.text)]
    if tree.every is every:
        return _parts(tree)
    inner = _parts(tree)
    if len(inner) == 1 and not inner[0].args.startswith("not "):
        return inner
    if tree.every and all(isinstance(part, Leaf) and part.negated for part in tree.parts):
        inner = [_require("all granted"), *inner]
    return [Line("requireall" if tree.every else "requireany", "", None, tuple(inner))]


def _parts(tree: Node) -> list[Line]:
    """The parts of a container; neighbouring lists of one kind are one line where that says the same."""
    found: list[Tree] = []
    for part in tree.parts:
        last = found[-1] if found else None
        if isinstance(part, Leaf) and isinstance(last, Leaf) and _join(tree.every, last, part):
            found[-1] = Leaf(part.kind, f"{last.words} {part.words}", part.negated)
        else:
            found.append(part)
    return [line for part in found for line in _lines(part, every=tree.every)]


def _join(every: bool, first: Leaf, second: Leaf) -> bool:
    """Words of one line are alternatives: positive lines join in RequireAny, negative ones in RequireAll."""
    same = first.kind == second.kind and first.negated is second.negated
    return same and first.kind in _JOINING and first.negated is every and first.words != "" != second.words
