"""How much a request says to a person: that of a document that is there before made-up names and methods."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from whimbrel.verify.answer import Answer
from whimbrel.verify.derive.targets import NEUTRAL
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

_SAFE_METHODS: Final = ("GET", "HEAD")


class Weight(IntEnum):
    """The weight of a request; the first has the most."""

    DOCUMENT = 0
    """GET of a file or directory that is there."""
    HEAD = 1
    """HEAD of such a one."""
    METHOD = 2
    """Another method for such a one."""
    NAME = 3
    """GET or HEAD of a name that nothing here has."""
    INVENTED = 4
    """Another method for such a name."""


def weight_of(probe: Probe, answers: tuple[Answer, Answer], sides: tuple[Side, Side]) -> Weight:
    """Return the weight of *probe*, to which *sides* give *answers*."""
    is_there = NEUTRAL not in probe.target and any(
        bool(answer.file) and side.loaded.disk.exists(answer.file)
        for answer, side in zip(answers, sides, strict=True)
    )
    if not is_there:
        return Weight.NAME if probe.method in _SAFE_METHODS else Weight.INVENTED
    if probe.method in _SAFE_METHODS:
        return Weight.DOCUMENT if probe.method == "GET" else Weight.HEAD
    return Weight.METHOD
