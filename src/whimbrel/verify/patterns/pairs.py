"""Pairs of patterns at corresponding places of two sides whose texts differ, compared as languages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.verify.alignment import Alignment, words_of
from whimbrel.verify.config_lines import ConfigLine, LineScope
from whimbrel.verify.patterns.languages import LanguageComparison, Pattern, Relation, compare_patterns
from whimbrel.verify.patterns.subjects import any_subject, subjects_of
from whimbrel.verify.patterns.uses import PatternUse, use_of_scope, uses_of_line


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
            return all(len([word for word in words_of(scope) if word != "~"]) == 1 for scope in self.scopes)
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


def pattern_pairs(alignment: Alignment) -> Iterator[PatternPair]:
    """Yield the pairs of patterns that differ in text and stand at corresponding places, those of sections
    first."""
    search = _Search(alignment)
    for scopes in alignment.scopes:
        yield from search.of_scopes(scopes)
    for row in alignment.paired_rows:
        for lines in row.replaced:
            yield from search.of_lines(lines)


class _Search:
    def __init__(self, alignment: Alignment) -> None:
        self.sides = alignment.sides
        self.version22 = tuple(lines.side.dialect.rewrite_22 for lines in self.sides)

    def of_scopes(self, scopes: tuple[LineScope, LineScope]) -> Iterator[PatternPair]:
        """Yield the pair of the patterns of two corresponding sections."""
        dialects = [lines.side.dialect for lines in self.sides]
        uses = [use_of_scope(scope, dialect) for scope, dialect in zip(scopes, dialects, strict=True)]
        if uses[0] is not None and uses[1] is not None:
            yield from self._compared((uses[0], uses[1]), scopes, None)

    def of_lines(self, lines: tuple[ConfigLine, ConfigLine]) -> Iterator[PatternPair]:
        """Yield the pairs of the patterns of two corresponding lines."""
        found = [
            uses_of_line(line, version22=version) for line, version in zip(lines, self.version22, strict=True)
        ]
        if len(found[0]) == len(found[1]):
            for first, second in zip(*found, strict=True):
                yield from self._compared((first, second), (lines[0].scope, lines[1].scope), lines)

    def _compared(
        self,
        uses: tuple[PatternUse, PatternUse],
        scopes: tuple[LineScope, LineScope],
        lines: tuple[ConfigLine, ConfigLine] | None,
    ) -> Iterator[PatternPair]:
        first = uses[0].pattern
        second = uses[1].pattern
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
