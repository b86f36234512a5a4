"""Failures of the machine, which no code can prevent: memory, descriptors, a disk that is full or broken."""

from __future__ import annotations

import os
import traceback
from errno import EAGAIN, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS

from whimbrel.base.static_typing import Final

ERRORS: Final = frozenset((EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS))
FAILURES: Final = (OSError, MemoryError, RuntimeError)
"""Types of exceptions that may be failures of the machine."""
_NO_THREAD: Final = "can't start new thread"  # the only mark of this RuntimeError


def cause_of(problem: BaseException) -> str:
    """Return the cause as the error log shows it, ``(24)Too many open files``; "" for any other exception."""
    if isinstance(problem, MemoryError):
        number = ENOMEM
    elif isinstance(problem, OSError) and problem.errno in ERRORS:
        number = problem.errno
    elif isinstance(problem, RuntimeError) and str(problem) == _NO_THREAD:
        number = EAGAIN
    else:
        return ""
    return f"({number}){os.strerror(number)}"


def place_of(problem: BaseException) -> str:
    """Return the function and the line that *problem* comes from, in place of a traceback."""
    frames = traceback.extract_tb(problem.__traceback__)
    if not frames:
        return "?"
    last = frames[-1]
    return f"{last.name}, line {last.lineno} of {os.path.basename(last.filename)}"
