"""A side without one of its lines, or with another one in its place.

A line is exercised if a request is answered otherwise without it. The change of a line is exercised if a
request is answered otherwise with the line of the other side in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.includes import read_overlaid
from whimbrel.verify.answer import Answer
from whimbrel.verify.config_lines import ConfigLine
from whimbrel.verify.difference import compare
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

MAX_REQUESTS: Final = 40_000
"""Requests that are asked of sides without a line, in one verification."""
MAX_LOADED: Final = 400_000
"""Lines that are loaded for sides without a line, in one verification."""


@dataclass(frozen=True, slots=True)
class RemovalBudget:
    """What is asked of sides without a line, and loaded for them, in one verification."""

    requests: int = MAX_REQUESTS
    loaded: int = MAX_LOADED


FULL_BUDGET: Final = RemovalBudget()


class WithoutLine:
    """Decides whether lines of *side* are exercised, within a budget."""

    def __init__(self, side: Side, budget: RemovalBudget = FULL_BUDGET) -> None:
        self.side = side
        self.budget = budget
        self.requests = 0
        self.loaded = 0

    def is_exercised(
        self,
        line: ConfigLine,
        count: int,
        exchanges: Iterable[tuple[Probe, Answer]],
        other_line: ConfigLine | None = None,
    ) -> bool:
        """Return True if one of the requests *exchanges* is answered otherwise without *line*, or with
        *other_line* in its place if the side loads then: it may be one of another version.

        *count*: the lines of the side.
        """
        self.loaded += count
        if self.loaded > self.budget.loaded or self.requests > self.budget.requests:
            return False
        other = None
        if other_line is not None:
            other = side_without(self.side, (line,), _text_of(other_line))
        if other is None or not other.is_loaded:
            other = side_without(self.side, (line,))
        if other is None or not other.is_loaded:
            return False
        other.probing.assume_as(self.side.probing)
        for probe, answer in exchanges:
            self.requests += 1
            if compare(answer, other.answer(probe)) is not None:
                return True
            if self.requests > self.budget.requests:
                break
        return False


def _text_of(line: ConfigLine) -> bytes:
    return to_bytes(f"{line.spelled or line.name} {line.args}".replace("\n", " "))


def side_without(side: Side, lines: Iterable[ConfigLine], text: bytes = b"") -> Side | None:
    """Return the side with *text* in place of each of *lines*, None if a file of them cannot be read.

    It records no origins: it answers, and explains nothing.
    """
    overlay = dict(side.options.overlay)
    options = replace(side.options, overlay=overlay, origins=False)
    for line in lines:
        try:
            overlay[line.path] = without_line(read_overlaid(line.path, options), line.line, text)
        except OSError:
            return None
    now = side.runtime.time
    if options.is_elsewhere:
        return load_side(options, side.dialect, name=side.name, origins=False, now=now)
    return Side.load(options, side.dialect, name=side.name, now=now)


def without_line(data: bytes, number: int, text: bytes = b"") -> bytes:
    """Return a text with *text* as line *number*, and the lines that continue it empty."""
    lines = data.split(b"\n")
    first = number - 1
    at = first
    while 0 <= at < len(lines):
        is_continued = lines[at].rstrip(b"\r").endswith(b"\\")
        lines[at] = b""
        at += 1
        if not is_continued:
            break
    if 0 <= first < len(lines):
        lines[first] = text
    return b"\n".join(lines)
