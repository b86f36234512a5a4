"""The state of one run through a list of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whimbrel.modules.mappers.mod_rewrite.trace import Step

if TYPE_CHECKING:
    from whimbrel.base.regex import Match

LogFn = Callable[[Any, int, str, str], None]
"""Writes one line of the rewriting log: request, level, folder (``""`` outside of one), text."""


class Context:
    """*rule* and *cond* are the matches that ``$N`` and ``%N`` stand for, *subject* what the rule's pattern was matched with.

    *vary* are the header fields that conditions of a matching rule looked at, *asked* those of the condition in hand.  *log* is None where nobody
    listens to a line of any level; *step* what is told of the rule in hand, where somebody wants it told.
    """

    __slots__ = ("condition_traces", "cond", "directory", "log", "r", "rule", "step", "subject", "vary")

    def __init__(self, r: Any, directory: str = "", log: LogFn | None = None) -> None:
        self.r, self.directory, self.log = r, directory, log
        self.subject = ""
        self.rule: Match | None = None
        self.cond: Match | None = None
        self.vary: list[str] = []
        self.condition_traces: list[str] = []
        self.step: Step | None = None

    def log_step(self, level: int, text: str, *, in_directory: bool = True) -> None:
        """Write a line, if anybody listens."""
        if self.log is not None:
            self.log(self.r, level, self.directory if in_directory else "", text)


def group(found: Match | None, number: int) -> str:
    """A group of a match; "" where there is no match, no such group, or the group took no part."""
    if found is None or (number and number > len(found.groups())):
        return ""
    return found.group(number) or ""


def may_lookahead(r: Any) -> bool:
    """Whether a sub-request may be made for what *r* asks: not by a sub-request for the same URL, which would never end."""
    return r.main is None or r.main.uri != r.uri
