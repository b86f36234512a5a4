"""Pages of programs: one side runs the program, the other sends its text to every client."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.upgrade.rules.modules.php import COMMON, OF_ONE_VERSION
from whimbrel.verify.answer import Answer

_FPM: Final = re.compile(r"(?i)proxy:(?:unix:[^|]*\|)?fcgi:")
SOURCE: Final = "program"
"""The part that differs where one side sends the text of a program that the other side runs."""


def is_source(old: Answer, new: Answer) -> bool:
    """Return True if *new* is the text of the program that would have made *old*."""
    return old.runs_program and new.sends_file and _name_of(old) == _name_of(new)


def _name_of(answer: Answer) -> str:
    return answer.file.rpartition("/")[2]


def what_is_sent(answer: Answer) -> str:
    """Return in words that a program runs, or that its text is sent."""
    return f"runs {_name_of(answer)}" if answer.runs_program else f"sends the source of {_name_of(answer)}"


def is_php(old: str, new: str) -> bool:
    """Return True if both handlers run scripts of PHP, one in the server and one by PHP-FPM."""
    handlers = {OF_ONE_VERSION.sub(COMMON, old), OF_ONE_VERSION.sub(COMMON, new)} - {COMMON}
    return len(handlers) == 1 and old != new and _FPM.match(handlers.pop()) is not None
