"""Differences between the versions that a rule of `whimbrel check` calls cosmetic: nothing has to be done."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from whimbrel.base.dialect import V22
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference

SMALL_BODIES: Final = "C30"
MAX_SMALL: Final = 68
"""Bytes of a body that mod_deflate of 2.4 sends as it is."""
ERROR_PAGES: Final = "C34"
REASONS: Final = {
    SMALL_BODIES: "2.4 sends bodies of 68 bytes or less uncompressed and without Vary (C30: do nothing)",
    ERROR_PAGES: "2.4 does not filter error pages by type: it sends them uncompressed (C34: do nothing)",
}
"""What changes, by the rule that knows it."""
_OF_ENCODING: Final = frozenset(("vary", "content-encoding", "body"))
_BY_TYPE: Final = re.compile(r"(?i)addoutputfilterbytype\s")
_COMPRESSES: Final = re.compile(r"(?i)(set|add)outputfilter|filterprovider")


def known_change(difference: Difference, answers: tuple[Answer, Answer], cause: Cause) -> str:
    """Return the rule that calls *difference*, whose lines are *cause*, cosmetic; "" for none."""
    filters = [line.text for line in (*cause.old, *cause.new) if compresses(line.text)]
    if any(map(_BY_TYPE.match, filters)) and is_of_error_page(difference, answers):
        return ERROR_PAGES
    return SMALL_BODIES if filters and is_of_small_body(difference, answers) else ""


def is_of_small_body(difference: Difference, answers: tuple[Answer, Answer]) -> bool:
    """Return True if 2.2 alone compresses a small body, or announces it in Vary, and nothing else differs."""
    return answers[1].length <= MAX_SMALL and _is_compressed_by_22(difference, answers)


def is_of_error_page(difference: Difference, answers: tuple[Answer, Answer]) -> bool:
    """Return True if 2.2 alone compresses an error page, or announces it in Vary, and nothing else differs.

    mod_filter of 2.4 leaves out responses with an error; the core of 2.2 adds filters by the type alone.
    """
    is_error = answers[1].status >= HTTPStatus.BAD_REQUEST
    return is_error and _is_compressed_by_22(difference, answers)


def _is_compressed_by_22(difference: Difference, answers: tuple[Answer, Answer]) -> bool:
    old, new = answers
    if old.dialect != V22.name or new.dialect == V22.name or new.field("content-encoding"):
        return False
    is_encoding = _OF_ENCODING.issuperset(difference.names) and "gzip" in _encodings(old)
    is_vary = difference.names == ("vary",) and _varies(old) - _varies(new) == {"accept-encoding"}
    return is_encoding or is_vary


def compresses(text: str) -> bool:
    """Return True for a line that puts mod_deflate's filter into the chain."""
    return _COMPRESSES.match(text) is not None and "DEFLATE" in text.upper()


def _encodings(answer: Answer) -> str:
    return ",".join(answer.field("content-encoding")).lower()


def _varies(answer: Answer) -> set[str]:
    return {word.strip().lower() for value in answer.field("vary") for word in value.split(",")}
