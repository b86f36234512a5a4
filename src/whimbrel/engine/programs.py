"""Permission to start programs: tools that ask an engine about requests run no CGI script, filter or map.

A stand-in with the output of a small CGI script replaces programs that work for one request, so that what the
configuration makes of an output can be seen.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from whimbrel.base.static_typing import Final

_STAND_IN: Final = [
    b"/usr/bin/printf",
    b"Content-Type: text/plain\\n\\n"
    b"output of a program, longer than what compression leaves alone as too short for it\\n",
]
_FORBIDDEN: Final[ContextVar[bool]] = ContextVar("programs are forbidden", default=False)
_REPORTED: Final[ContextVar[bool]] = ContextVar("programs are reported", default=False)


class ProgramReported(Exception):
    """A program for one request would be started; raised where programs are reported."""


def require_programs() -> None:
    """Raise PermissionError where programs may not be started: the caller treats it as a failed exec."""
    if _FORBIDDEN.get():
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def permitted(argv: list[bytes]) -> list[bytes]:
    """Return the command to run: *argv*, or a harmless one with a fixed output where programs may not be
    started; raises ProgramReported where programs are reported.
    """
    if _REPORTED.get():
        raise ProgramReported
    return _STAND_IN if _FORBIDDEN.get() else argv


@contextmanager
def reported_programs() -> Iterator[None]:
    """Raise ProgramReported in the place of starting a program while the context is open."""
    token = _REPORTED.set(True)
    try:
        yield
    finally:
        _REPORTED.reset(token)


@contextmanager
def without_programs() -> Iterator[None]:
    """Forbid programs while the context is open."""
    token = _FORBIDDEN.set(True)
    try:
        yield
    finally:
        _FORBIDDEN.reset(token)
