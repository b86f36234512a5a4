"""How much a request says to a person: that of a document that is there before made-up names and methods."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from whimbrel.verify.answer import Answer
from whimbrel.verify.derive.targets import NEUTRAL
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

_SAFE_METHODS: Final = ("GET", "HEAD")
_OF_STATE: Final = ("server-status", "server-info", "balancer-manager", "ldap-status")
"""Handlers of pages about the server itself."""
_FAILED: Final = 500


class Weight(IntEnum):
    """The weight of a request; the first has the most."""

    ROOT = 0
    """GET of ``/``."""
    DOCUMENT = 1
    """GET of a file or directory that is there."""
    HEAD = 2
    """HEAD of such a one."""
    METHOD = 3
    """Another method for such a one."""
    STATE = 4
    """A page about the server itself, which its visitors do not ask for."""
    NAME = 5
    """GET or HEAD of a name that nothing here has."""
    INVENTED = 6
    """Another method for such a name."""


def weight_of(probe: Probe, answers: tuple[Answer, Answer], sides: tuple[Side, Side]) -> Weight:
    """Return the weight of *probe*, to which *sides* give *answers*.

    The file of an answer with 500 is the last directory that was looked at, which any name below it has.
    """
    if any(answer.handler in _OF_STATE for answer in answers):
        return Weight.STATE
    is_there = NEUTRAL not in probe.target and any(
        bool(answer.file) and answer.status != _FAILED and side.loaded.disk.exists(answer.file)
        for answer, side in zip(answers, sides, strict=True)
    )
    if not is_there:
        return Weight.NAME if probe.method in _SAFE_METHODS else Weight.INVENTED
    if probe.method == "GET":
        return Weight.ROOT if probe.target == "/" else Weight.DOCUMENT
    if probe.method in _SAFE_METHODS:
        return Weight.HEAD
    return Weight.METHOD
