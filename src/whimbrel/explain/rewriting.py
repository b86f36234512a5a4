"""The rules of rewriting and the negotiation that led a request to what answers it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.config.origins import Origin
from whimbrel.explain.step import ExplanationStep

_NEGOTIATION: Final = "mod_negotiation"
_LEADING: Final = ("action ", "script ", "fallbackresource ")
_RESULT: Final = "-> "
REFUSED: Final = "refused: -> "
"""What stands before the result of a rule for which the request is refused."""


def rewriting_lines(blocks: Iterable[Iterable[ExplanationStep]]) -> list[Origin]:
    """Return the lines of the rules that gave the request of *blocks* another path, in their order, each as
    often as it did."""
    return [line for block in blocks for step in block for line, _path in rewritten_paths(step)]


def leading_lines(blocks: Iterable[Iterable[ExplanationStep]]) -> list[Origin]:
    """Return the lines that made one request of *blocks* lead to another file or request: rules, and those of
    Action and FallbackResource.
    """
    return [
        line
        for block in blocks
        for step in block
        for line in (
            *(line for line, _path in rewritten_paths(step)),
            *(line for line in step.lines if line.text.lower().startswith(_LEADING)),
        )
    ]


def rewritten_paths(step: ExplanationStep) -> list[tuple[Origin, str]]:
    """Return the lines of the rules of *step* that gave the request another path, each with the path."""
    return _paths(step, _RESULT)


def refused_paths(step: ExplanationStep) -> list[tuple[Origin, str]]:
    """Return the lines of the rules of *step* for which the request is refused, each with what it gives."""
    return _paths(step, REFUSED)


def _paths(step: ExplanationStep, mark: str) -> list[tuple[Origin, str]]:
    """Return the lines of the rules of *step* with a result that begins with *mark*; and the paths."""
    return [
        (line, rule.result.removeprefix(mark))
        for rule in step.children
        if rule.kind == "rule" and rule.result.startswith(mark)
        for line in rule.lines
    ]


def looping_lines(blocks: Iterable[Iterable[ExplanationStep]]) -> tuple[Origin, ...]:
    """Return the lines of the rules that feed each other, in the order of their first use; () if none was
    applied twice.

    The circle ends with the rules of the last request, and begins behind the request before it that had the
    same ones.
    """
    rules = [found for block in blocks if (found := tuple(rewriting_lines([block])))]
    for length in range(1, len(rules)):
        if rules[-1 - length] == rules[-1]:
            circle = {line for found in rules[-length:] for line in found}
            return tuple(dict.fromkeys(line for found in rules for line in found if line in circle))
    return ()


def negotiations(block: Iterable[ExplanationStep]) -> Iterator[tuple[ExplanationStep, str]]:
    """Yield the steps that chose a variant, each with its file."""
    for step in block:
        path = file_of(step) if step.what == _NEGOTIATION else ""
        if path:
            yield step, path


def file_of(step: ExplanationStep) -> str:
    """Return the file that *step* mapped the request to, "" if it did not."""
    start, mark, rest = step.result.partition("file ")
    is_part = bool(mark) and (not start or start.endswith(", "))
    return rest.partition(", ")[0] if is_part else ""
