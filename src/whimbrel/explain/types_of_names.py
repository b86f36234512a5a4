"""Answers that depend on the file of types of names (TypesConfig)."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.explain.rewriting import file_of
from whimbrel.explain.step import ExplanationStep, RequestExplanation


def needs_types(explanation: RequestExplanation) -> bool:
    """Return True if the request, or a sub-request of it, met a file whose type or handler no line gives, and
    whose name has an extension: mod_mime looks for it in the file of types.

    A request that was refused before has no step about its type.
    """
    return any(map(_needs_types, _requests(explanation)))


def _requests(explanation: RequestExplanation) -> Iterator[tuple[ExplanationStep, ...]]:
    """Yield the steps of the request, and those of each redirect and of each sub-request that looks for a
    file: one that is answered is a part of a page, whose type nobody sends.
    """
    yield explanation.steps
    for step in explanation.all():
        is_part = any(child.kind == "handler" for child in step.children)
        if step.kind == "redirect" or (step.kind == "sub-request" and not is_part):
            yield step.children


def _needs_types(steps: tuple[ExplanationStep, ...]) -> bool:
    mapped = [step for step in steps if step.kind == "type"]
    files = [step.what for step in steps if step.kind == "file" and step.result == "file"]
    if not mapped or not files or any(map(_is_decided, steps)):
        return False
    chosen = [path for step in mapped if (path := file_of(step))]  # of a negotiation
    return "." in (*files, *chosen)[-1].rpartition("/")[2]


def _is_decided(step: ExplanationStep) -> bool:
    """Return True if a line gave the type or the handler."""
    is_set = any(part.startswith(("type ", "handler ")) for part in step.result.split(", "))
    return is_set and (step.kind == "fix-ups" or (step.kind == "type" and bool(step.lines)))
