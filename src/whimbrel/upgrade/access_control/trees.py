"""Decisions as trees of Require lines and containers: simplified, and written as short as possible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RequireLeaf:
    """One Require line: *kind* is the provider, *words* its arguments as written; *negated* stands for
    ``not``."""

    kind: str
    words: str = ""
    negated: bool = False

    @property
    def text(self) -> str:
        """The arguments of Require."""
        return f"{'not ' if self.negated else ''}{self.kind} {self.words}".rstrip()


@dataclass(frozen=True, slots=True)
class RequireNode:
    """The conjunction or disjunction of *parts*; without parts it is true or false."""

    is_conjunction: bool
    parts: tuple[RequireTree, ...] = field(default=())


RequireTree = RequireLeaf | RequireNode
GRANTED: Final = RequireNode(True)
DENIED: Final = RequireNode(False)
_JOINING: Final = frozenset({"ip", "host", "env", "user", "group"})
_QUOTES: Final = frozenset("\"'\\")


def all_of(parts: Iterable[RequireTree]) -> RequireTree:
    """Return the conjunction, flattened; it is refused if a part always is."""
    return _combine(True, parts)


def any_of(parts: Iterable[RequireTree]) -> RequireTree:
    """Return the disjunction, flattened; it is granted if a part always is."""
    return _combine(False, parts)


def _combine(is_conjunction: bool, parts: Iterable[RequireTree]) -> RequireTree:
    flat: dict[RequireTree, None] = {}
    end = DENIED if is_conjunction else GRANTED
    for part in parts:
        if part == end:
            return end
        if isinstance(part, RequireNode) and part.is_conjunction is is_conjunction:
            flat.update(dict.fromkeys(part.parts))
        else:
            flat[part] = None
    flat_parts = _without_absorbed(tuple(flat), is_conjunction)
    return flat_parts[0] if len(flat_parts) == 1 else RequireNode(is_conjunction, flat_parts)


def _without_absorbed(parts: tuple[RequireTree, ...], is_conjunction: bool) -> tuple[RequireTree, ...]:
    """Return *parts* without the lines whose words another line of the same provider has, too: what they
    grant in a disjunction, or refuse in a conjunction, that line does.
    """
    lines = [part for part in parts if isinstance(part, RequireLeaf) and _is_joined(part, is_conjunction)]
    words = {line: frozenset(line.words.split()) for line in lines if not _QUOTES & set(line.words)}
    absorbed = {
        line for line in words for other in words if line.kind == other.kind and words[line] < words[other]
    }
    return tuple(part for part in parts if part not in absorbed)


def negate(tree: RequireTree) -> RequireTree:
    """Return the negation, moved down to the leaves."""
    if isinstance(tree, RequireLeaf):
        return RequireLeaf(tree.kind, tree.words, not tree.negated)
    return _combine(not tree.is_conjunction, [negate(part) for part in tree.parts])


# writing --------------------------------------------------------------------------------------------
def to_lines(tree: RequireTree) -> tuple[AccessLine, ...]:
    """Return the lines of a section that decides as *tree* does."""
    return tuple(_lines(tree, in_conjunction=False))


def _require(text: str) -> AccessLine:
    return AccessLine("require", text)


def _lines(tree: RequireTree, *, in_conjunction: bool) -> list[AccessLine]:
    """Return *tree* as lines inside of a container, a conjunction if *in_conjunction*."""
    if tree in (GRANTED, DENIED):
        return [_require("all granted" if tree == GRANTED else "all denied")]
    if isinstance(tree, RequireLeaf):
        if tree.negated and not in_conjunction:
            return [AccessLine("requireall", "", None, (_require("all granted"), _require(tree.text)))]
        return [_require(tree.text)]
    if tree.is_conjunction is in_conjunction:
        return _parts(tree)
    inner = _parts(tree)
    if len(inner) == 1 and not inner[0].args.startswith("not "):
        return inner
    if tree.is_conjunction and all(isinstance(part, RequireLeaf) and part.negated for part in tree.parts):
        inner = [_require("all granted"), *inner]
    return [AccessLine("requireall" if tree.is_conjunction else "requireany", "", None, tuple(inner))]


def _parts(tree: RequireNode) -> list[AccessLine]:
    """Return the parts of a container; neighbours of one provider become one line if the meaning is
    the same."""
    merged_parts: list[RequireTree] = []
    for part in tree.parts:
        last = merged_parts[-1] if merged_parts else None
        if (
            isinstance(part, RequireLeaf)
            and isinstance(last, RequireLeaf)
            and _can_join(tree.is_conjunction, last, part)
        ):
            merged_parts[-1] = RequireLeaf(part.kind, _joined(last.words, part.words), part.negated)
        else:
            merged_parts.append(part)
    return [line for part in merged_parts for line in _lines(part, in_conjunction=tree.is_conjunction)]


def _can_join(in_conjunction: bool, first: RequireLeaf, second: RequireLeaf) -> bool:
    """Return True if two lines can be joined: positive lines in RequireAny, negated lines in RequireAll."""
    same = first.kind == second.kind and first.negated is second.negated
    return same and _is_joined(first, in_conjunction) and _is_joined(second, in_conjunction)


def _is_joined(leaf: RequireLeaf, in_conjunction: bool) -> bool:
    """Return True if the words of the line count each for itself, as those of several lines would."""
    return leaf.kind in _JOINING and leaf.negated is in_conjunction and leaf.words != ""


def _joined(first: str, second: str) -> str:
    """Return the words of two lines, each once; quoted ones stay as they are."""
    if _QUOTES & set(first + second):
        return f"{first} {second}"
    known = first.split()
    return " ".join([*known, *(word for word in second.split() if word not in known)])
