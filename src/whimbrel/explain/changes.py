"""The steps in which two explanations of a request differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.explain.step import ExplanationStep, RequestExplanation

_OF_EACH_REQUEST: Final = re.compile(r"\benv UNIQUE_ID \S+")
"""What no two requests have alike."""


@dataclass(frozen=True, slots=True)
class ChangedStep:
    """A step that differs; None where one side has no such step."""

    old: ExplanationStep | None
    new: ExplanationStep | None


def changed_steps(old: RequestExplanation, new: RequestExplanation) -> Iterator[ChangedStep]:
    """Iterate over the innermost steps that differ, in the order of the request.

    Steps differ in what they do and in the texts of their lines, not in the places of the lines: two
    configurations may have the same line elsewhere.
    """
    yield from _changes(old.steps, new.steps)


def innermost(changes: Iterable[ChangedStep]) -> list[ChangedStep]:
    """Return the changes without the steps whose parts differ, too: these differ for that reason. What is
    sent differs by itself.
    """
    return [change for change in changes if not _has_changed_parts(change)]


def _has_changed_parts(change: ChangedStep) -> bool:
    old = change.old
    return old is not None and change.new is not None and old.kind != "response" and bool(old.children)


def _changes(old: tuple[ExplanationStep, ...], new: tuple[ExplanationStep, ...]) -> Iterator[ChangedStep]:
    matcher = SequenceMatcher(
        None, [_name(step) for step in old], [_name(step) for step in new], autojunk=False
    )
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for before, after in zip(old[a:b], new[c:d], strict=True):
                yield from _changes_of_step(before, after)
        else:
            yield from (ChangedStep(step, None) for step in old[a:b])
            yield from (ChangedStep(None, step) for step in new[c:d])


def _changes_of_step(old: ExplanationStep, new: ExplanationStep) -> Iterator[ChangedStep]:
    inner = list(_changes(old.children, new.children))
    if inner:
        yield from inner
    if _own(old) != _own(new):
        yield ChangedStep(old, new)


def _name(step: ExplanationStep) -> tuple[str, str]:
    return step.kind, step.what


def _own(step: ExplanationStep) -> tuple[object, ...]:
    result = _OF_EACH_REQUEST.sub("", step.result)
    if step.kind == "header" and result:
        return step.kind, step.what, result  # equal fields, whatever line set them
    return step.kind, step.what, result, step.detail, tuple(line.text for line in step.lines)
