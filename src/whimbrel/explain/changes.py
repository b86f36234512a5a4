"""The steps in which two explanations of a request differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.explain.decisions import DECLINES, GRANTED
from whimbrel.explain.step import ExplanationStep, RequestExplanation

_OF_EACH_REQUEST: Final = re.compile(r"\benv UNIQUE_ID \S+")
"""What no two requests have alike."""
_VOID: Final = "void"
_ADMITTING: Final = (GRANTED, DECLINES, _VOID)
_DECIDING_NOTHING: Final = (DECLINES, _VOID)
"""Results of checks that leave the decision to others."""
_CONSEQUENCES: Final = frozenset(("filters", "log"))
"""Kinds of steps that follow from the status."""
_ROOT: Final = "\0"
"""What stands for the server root of either side; no text of a step has it."""


@dataclass(frozen=True, slots=True)
class ChangedStep:
    """A step that differs; None where one side has no such step."""

    old: ExplanationStep | None
    new: ExplanationStep | None


def changed_steps(old: RequestExplanation, new: RequestExplanation) -> Iterator[ChangedStep]:
    """Iterate over the innermost steps that differ, in the order of the request.

    Steps differ in what they do and in the texts of their lines, not in the places of the lines: two
    configurations may have the same line elsewhere, and they may lie in different directories.
    """
    yield from _Comparison((old, new)).changes(old.steps, new.steps)


def innermost(changes: Iterable[ChangedStep]) -> list[ChangedStep]:
    """Return the changes without the steps whose parts differ, too: these differ for that reason. What is
    sent differs by itself.
    """
    return [change for change in changes if not _has_changed_parts(change)]


def deciding(
    changes: Iterable[ChangedStep], sides: tuple[RequestExplanation, RequestExplanation]
) -> list[ChangedStep]:
    """Return those of the innermost *changes* that can decide what differs in the answers.

    Where the statuses differ, filters, log lines and variables follow from them. A check that declines
    decides nothing, nor do checks of access that admit the client on both sides.
    """
    inner = innermost(changes)
    steps = [step for change in inner for step in (change.old, change.new) if step is not None]
    is_admitted = all(step.result in _ADMITTING for step in steps if step.kind == "access" and not step.lines)
    has_other_status = sides[0].status != sides[1].status

    def can_decide(step: ExplanationStep | None) -> bool:
        if step is None or step.result in _DECIDING_NOTHING:
            return False
        if step.kind == "access" and is_admitted:
            return False
        is_consequence = step.kind in _CONSEQUENCES or step.result.startswith("env ")
        return not (has_other_status and is_consequence)

    return [change for change in inner if can_decide(change.old) or can_decide(change.new)]


def _has_changed_parts(change: ChangedStep) -> bool:
    old = change.old
    return old is not None and change.new is not None and old.kind != "response" and bool(old.children)


class _Comparison:
    """Compares the steps of two explanations. Paths below the roots of both sides are the same paths, and so
    are those that a copy has for a path of its text.
    """

    def __init__(self, sides: tuple[RequestExplanation, RequestExplanation]) -> None:
        self._roots = [_pattern_of(side.roots) for side in sides]
        self._originals = [
            {place.rstrip("/"): original.rstrip("/") for original, place in side.places} for side in sides
        ]
        self._places = [_pattern_of(originals) for originals in self._originals]
        self._files = [{copy: original for original, copy in side.copies.items()} for side in sides]
        self._copies = [_pattern_of(files) for files in self._files]

    def changes(
        self, old: tuple[ExplanationStep, ...], new: tuple[ExplanationStep, ...]
    ) -> Iterator[ChangedStep]:
        """Iterate over the steps that differ, those below a step before it."""
        old_names = [self._name(0, step) for step in old]
        new_names = [self._name(1, step) for step in new]
        matcher = SequenceMatcher(None, old_names, new_names, autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag == "equal":
                for before, after in zip(old[a:b], new[c:d], strict=True):
                    yield from self._changes_of_step(before, after)
            else:
                yield from (ChangedStep(step, None) for step in old[a:b])
                yield from (ChangedStep(None, step) for step in new[c:d])

    def _changes_of_step(self, old: ExplanationStep, new: ExplanationStep) -> Iterator[ChangedStep]:
        yield from self.changes(old.children, new.children)
        if self._own(0, old) != self._own(1, new):
            yield ChangedStep(old, new)

    def _name(self, number: int, step: ExplanationStep) -> tuple[str, str]:
        return step.kind, self._text(number, step.what)

    def _own(self, number: int, step: ExplanationStep) -> tuple[object, ...]:
        result = self._text(number, _OF_EACH_REQUEST.sub("", step.result))
        if step.kind == "header" and result:
            return *self._name(number, step), result  # equal fields, whatever line set them
        lines = tuple(self._text(number, line.text) for line in step.lines)
        return *self._name(number, step), result, self._text(number, step.detail), lines

    def _text(self, number: int, text: str) -> str:
        """Return *text* of a side without the roots of this side, with the paths of its configuration."""
        files = self._files[number]
        if files:  # a copy may lie below a root
            text = self._copies[number].sub(lambda found: files[found[0]], text)
        text = self._roots[number].sub(_ROOT, text)
        originals = self._originals[number]
        return self._places[number].sub(lambda found: originals[found[0]], text) if originals else text


def _pattern_of(roots: Iterable[str]) -> re.Pattern[str]:
    """Return what matches the *roots* of a side as whole paths."""
    paths = sorted(filter(None, (root.rstrip("/") for root in roots)), key=len, reverse=True)
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, paths))})(?![\w.-])" if paths else "(?!)")
