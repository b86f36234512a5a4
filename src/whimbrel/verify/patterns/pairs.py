"""Pairs of patterns at corresponding places of two sides whose texts differ, compared as languages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final, TypeVar

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.verify.config_lines import ConfigLine, LineScope, SideLines
from whimbrel.verify.patterns.languages import LanguageComparison, Pattern, Relation, compare_patterns
from whimbrel.verify.patterns.subjects import any_subject, subjects_of
from whimbrel.verify.patterns.uses import PatternUse, family, use_of_scope, uses_of_line

T = TypeVar("T")
MAX_ALIGNED: Final = 2000
"""Lines or sections in a row that are aligned; of longer rows, those at equal positions."""


@dataclass(frozen=True, slots=True, eq=False)
class PatternPair:
    """Two patterns at corresponding places.

    Attributes:
        uses: of the old and the new side.
        scopes: in which they stand; for the pattern of a section the section itself.
        lines: their directives, None for sections.
        found: the comparison, for the texts that the directive can meet.
        others: texts that separate the patterns and that a request has before its URL is normalized alone.
    """

    uses: tuple[PatternUse, PatternUse]
    scopes: tuple[LineScope, LineScope]
    lines: tuple[ConfigLine, ConfigLine] | None
    found: LanguageComparison
    others: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The separating texts, those of both directions in turn."""
        pairs = zip_longest(self.found.first_only, self.found.second_only)
        return [text for pair in pairs for text in pair if text is not None] + list(self.others)

    @property
    def is_equal(self) -> bool:
        """Return True if the patterns have the same effect on each text."""
        if any(use.has_spans for use in self.uses):
            return self.found.is_identical
        return self.found.relation is Relation.EQUAL

    @property
    def is_only_difference(self) -> bool:
        """Return True if nothing else differs in the two lines, or in the heads of the two sections."""
        if self.lines is None:
            words = [ConfigLine("", scope.args, "", 0, scope).words() for scope in self.scopes]
            return all(len([word for word in row if word not in ("", "~")]) == 1 for row in words)
        old, new = (
            [word.replace(use.pattern.text, "") for word in line.words()]
            for line, use in zip(self.lines, self.uses, strict=True)
        )
        return old == new

    @property
    def place(self) -> str:
        """The location of the new side."""
        path, line = self._location(1)
        return f"{path}:{line}" if line else path

    def _location(self, number: int) -> tuple[str, int]:
        if self.lines is not None:
            return self.lines[number].path, self.lines[number].line
        return self.scopes[number].path, self.scopes[number].line

    def __str__(self) -> str:
        shown = " and ".join(_shown(use.pattern) for use in self.uses)
        if self.found.samples:
            return f"{self.place}: the patterns {shown} differ: {_quoted(self.found.samples[0])}"
        if self.found.relation is Relation.NOT_DECIDED:
            return f"{self.place}: the patterns {shown} are not compared: {self.found.reason}"
        return f"{self.place}: the patterns {shown} may capture different texts"


def _shown(pattern: Pattern) -> str:
    text = pattern.text if len(pattern.text) <= 50 else pattern.text[:47] + "..."
    return ("!" if pattern.is_negated else "") + text + (" (any case)" if pattern.ignore_case else "")


def _quoted(text: str) -> str:
    shown = ascii(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def pattern_pairs(old: SideLines, new: SideLines) -> Iterator[PatternPair]:
    """Yield the pairs of patterns that differ in text and stand at corresponding places."""
    search = _Search(old, new)
    for scopes in search.scopes():
        yield from search.of_scopes(scopes)


class _Search:
    def __init__(self, old: SideLines, new: SideLines) -> None:
        self.sides = old, new
        self.version22 = tuple(lines.side.dialect.rewrite_22 for lines in (old, new))
        self._inner: tuple[dict[int, list[LineScope]], ...] = ({}, {})
        for lines, inner in zip(self.sides, self._inner, strict=True):
            for scope in lines.scopes:
                if scope.outer is not None:
                    inner.setdefault(id(scope.outer), []).append(scope)

    def scopes(self) -> Iterator[tuple[LineScope, LineScope]]:
        """Yield the corresponding scopes of both sides, outer ones first."""
        waiting = [(self.sides[0].main, self.sides[1].main)]
        while waiting:
            pair = waiting.pop(0)
            yield pair
            rows = [inner.get(id(scope), []) for inner, scope in zip(self._inner, pair, strict=True)]
            waiting += aligned(rows[0], rows[1], self._key_of_scope, _kind_of_scope)

    def _key_of_scope(self, scope: LineScope, number: int) -> Hashable:
        names: list[str] = []
        if scope.kind == "server":
            names = [line.args.lower() for line in scope.lines if line.name == "servername"][:1]
        root = self.sides[number].side.loaded.root
        return (scope.kind, " ".join(scope.args.split()).replace(root, "@"), *names)

    def of_scopes(self, scopes: tuple[LineScope, LineScope]) -> Iterator[PatternPair]:
        """Yield the pairs of two corresponding scopes: their own patterns, then those of their lines."""
        dialects = [lines.side.dialect for lines in self.sides]
        uses = [use_of_scope(scope, dialect) for scope, dialect in zip(scopes, dialects, strict=True)]
        if uses[0] is not None and uses[1] is not None:
            yield from self._compared((uses[0], uses[1]), scopes, None)
        pairs = aligned(scopes[0].lines, scopes[1].lines, _key_of_line, lambda line: family(line.name))
        for lines in pairs:
            if (lines[0].name, lines[0].args) == (lines[1].name, lines[1].args):
                continue
            found = [
                uses_of_line(line, version22=version)
                for line, version in zip(lines, self.version22, strict=True)
            ]
            if len(found[0]) == len(found[1]):
                for first, second in zip(*found, strict=True):
                    yield from self._compared((first, second), scopes, lines)

    def _compared(
        self,
        uses: tuple[PatternUse, PatternUse],
        scopes: tuple[LineScope, LineScope],
        lines: tuple[ConfigLine, ConfigLine] | None,
    ) -> Iterator[PatternPair]:
        first, second = uses[0].pattern, uses[1].pattern
        is_written_alike = lines is not None or scopes[0].args == scopes[1].args
        if is_written_alike and (first.text, first.ignore_case, first.is_negated) == (
            second.text,
            second.ignore_case,
            second.is_negated,
        ):
            return
        served = [lines.served(lines.side.loaded.main) for lines in self.sides]
        is_mixed = self.version22[0] is not self.version22[1]
        found = compare_patterns(
            first, second, subjects_of(uses[1].subject, served[1].tops, is_mixed=is_mixed)
        )
        others: tuple[str, ...] = ()
        if found.relation is Relation.EQUAL and not found.is_identical:
            others = compare_patterns(first, second, any_subject(is_mixed=is_mixed)).samples
        yield PatternPair(uses, scopes, lines, found, others)


def _kind_of_scope(scope: LineScope) -> str:
    return scope.kind.removesuffix("match")


def _key_of_line(line: ConfigLine, _number: int) -> Hashable:
    return (line.name, " ".join(line.args.split()))


def aligned(
    old: Sequence[T],
    new: Sequence[T],
    key: Callable[[T, int], Hashable],
    kind: Callable[[T], str],
) -> list[tuple[T, T]]:
    """Return corresponding members: equal ones, and between them those of one *kind* in their order."""
    keys = [[key(one, number) for one in row] for number, row in enumerate((old, new))]
    if keys[0] == keys[1] or max(len(old), len(new)) > MAX_ALIGNED:
        return [pair for pair in zip(old, new, strict=False) if kind(pair[0]) == kind(pair[1])]
    found: list[tuple[T, T]] = []
    for operation, i, j, k, m in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if operation == "equal":
            found += zip(old[i:j], new[k:m], strict=True)
        elif operation == "replace":
            found += _by_kind(old[i:j], new[k:m], kind)
    return found


def _by_kind(old: Sequence[T], new: Sequence[T], kind: Callable[[T], str]) -> Iterator[tuple[T, T]]:
    rows: dict[str, list[T]] = {}
    for one in new:
        rows.setdefault(kind(one), []).append(one)
    for one in old:
        row = rows.get(kind(one))
        if row:
            yield one, row.pop(0)
