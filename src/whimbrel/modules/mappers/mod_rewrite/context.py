"""State of one run through a list of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whimbrel.modules.mappers.mod_rewrite.trace import Step

if TYPE_CHECKING:
    from whimbrel.base.regex import Match
    from whimbrel.engine.request import Request

LogFn = Callable[[Any, int, str, str], None]
"""Writes one line of the rewriting log: request, level, directory ("" for a server's rules), text."""


class Context:
    """State of a run.

    *rule* and *cond* are the matches of ``$N`` and ``%N``, *subject* is the text that the rule's pattern
    matched. *vary* are the header fields that conditions of a matching rule read, *asked* those of the
    current condition. *log* is None without logging; *step* is the trace of the current rule, if tracing is
    on.
    """

    __slots__ = ("condition_traces", "cond", "directory", "log", "r", "rule", "step", "subject", "vary")

    def __init__(self, r: Request, directory: str = "", log: LogFn | None = None) -> None:
        self.r = r
        self.directory = directory
        self.log = log
        self.subject = ""
        self.rule: Match | None = None
        self.cond: Match | None = None
        self.vary: list[str] = []
        self.condition_traces: list[str] = []
        self.step: Step | None = None

    def log_step(self, level: int, text: str, *, in_directory: bool = True) -> None:
        """Log a line, if logging is on."""
        if self.log is not None:
            self.log(self.r, level, self.directory if in_directory else "", text)


def group(match: Match | None, number: int) -> str:
    """Return a group of a match; "" without a match, for a missing group, or for one that took no part."""
    if match is None or (number and number > len(match.groups())):
        return ""
    return match.group(number) or ""
