"""Texts of a page: cleaned, cut and decoded; anchors; numbers with separators."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from whimbrel.base.terminal_text import shown
from whimbrel.report.page.model import ReportPage
from whimbrel.report.questions import QuestionText
from whimbrel.report.readiness import READY
from whimbrel.upgrade.apply.left_decisions import LEFT

MAX_MESSAGE: Final = 1200
"""Characters of a sentence."""
MAX_CODE: Final = 400
"""Characters of a line of code."""
MAX_ANCHOR: Final = 80
_UNDECODED: Final = re.compile("[\ud800-\udfff]")
_NO_ANCHOR: Final = re.compile(r"[^A-Za-z0-9._]+")


def page_text(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return *text*, which has one character per byte, for a page in UTF-8: no control characters, none that
    reorder a line, and bytes that are no UTF-8 as escapes.
    """
    return without_bytes(shown(text, limit))


def result_line(page: ReportPage) -> str:
    """Return the result of *page* in one line: whether 2.4 may take over, or the verdict and the counts."""
    first = next(iter(page.answer), "")
    if first.startswith(READY):
        return first
    has_verdict = page.badge.text.lower() in page.sentence.lower()
    return page.sentence if has_verdict else f"{page.badge.text}: {page.sentence}"


def page_questions(texts: Iterable[QuestionText]) -> tuple[QuestionText, ...]:
    """Return questions with their places and answers for a page; each answer is a line."""
    return tuple(
        (
            page_text(rule),
            page_text(place),
            page_text(text.removeprefix(LEFT)),  # it stands in a list of what is to decide
            "\n".join(map(page_text, answers.splitlines())),
        )
        for rule, place, text, answers in texts
    )


def without_bytes(text: str) -> str:
    """Return shown text with bytes that are no UTF-8 as escapes."""
    return _UNDECODED.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", text)


def number(count: int) -> str:
    """Return *count* with separators."""
    return f"{count:,}"


RESERVED: Final = (
    *("access", "all", "count", "file", "findings", "late", "logged", "main", "not-known", "print", "rule"),
    *("rules", "said", "scheme", "unread", "verdict", "words"),
)
"""Names of places that every page has."""


class Anchors:
    """Names of places in a page, each given once."""

    def __init__(self) -> None:
        self._given = dict.fromkeys(RESERVED, 1)

    def new(self, text: str) -> str:
        """Return a name that is like *text* and has no characters of markup."""
        name = _NO_ANCHOR.sub("-", text).strip("-")[-MAX_ANCHOR:] or "x"
        count = self._given.get(name, 0) + 1
        self._given[name] = count
        return name if count == 1 else f"{name}~{count}"
