"""Permission to start programs: what a configuration names is started by a server, and by nothing else.

A process starts with none. The serving commands call `permit_programs`; a tool that starts a program on
behalf of its user, such as an editor, does so within `programs_permitted`. All other code that starts one
calls `require_programs` first, or `permitted`, which replaces programs that work for one request by a
stand-in with the output of a small CGI script, so that what the configuration makes of an output can be
seen. Handlers that are about to start a program say so by `report`, which tools see in `noted_programs`.
Scripts of an interpreter within the process (mod_lua) and files that modules write count as programs.
"""

from __future__ import annotations

import errno
import os
from contextvars import ContextVar, Token

from whimbrel.base.static_typing import Final, Generic, TypeVar

T = TypeVar("T")

_STAND_IN: Final = [
    b"/usr/bin/printf",
    b"Content-Type: text/plain\\n\\n"
    b"output of a program, longer than what compression leaves alone as too short for it\\n",
]


class _Process:
    """The permission of this process and of the processes that it forks."""

    __slots__ = ("may_start",)

    def __init__(self) -> None:
        self.may_start = False


_PROCESS: Final = _Process()
_CONTEXT: Final[ContextVar[bool | None]] = ContextVar("programs in this context", default=None)
_REPORTED: Final[ContextVar[bool]] = ContextVar("programs are reported", default=False)
_NOTED: Final[ContextVar[list[str] | None]] = ContextVar("programs that were noted", default=None)


class ProgramReported(Exception):
    """A program for one request would be started; raised where programs are reported. The text names what
    would run, "" for the request's file.
    """


def permit_programs() -> None:
    """Permit programs in this process, which serves a configuration of its user."""
    _PROCESS.may_start = True


def may_start_programs() -> bool:
    """Return True if programs may be started here."""
    permission = _CONTEXT.get()
    return _PROCESS.may_start if permission is None else permission


def require_programs() -> None:
    """Raise PermissionError where programs may not be started: the caller treats it as a failed exec."""
    if not may_start_programs():
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def permitted(argv: list[bytes]) -> list[bytes] | None:
    """Return the command to run, None for `stand_in`; raises ProgramReported where programs are reported."""
    if _REPORTED.get():
        raise ProgramReported
    return argv if may_start_programs() else None


def report(what: str, *, makes_response: bool = True) -> None:
    """Note *what* would be run, "" for the request's file; raises ProgramReported where programs are
    reported. *makes_response*: it makes the whole response, not a part of it, and does not only filter it.
    """
    if _REPORTED.get():
        raise ProgramReported(what)
    noted = _NOTED.get()
    if noted is not None and makes_response:
        noted.append(what)


def stand_in() -> list[bytes]:
    """Return a harmless command with a fixed output; it runs with an empty environment, in /."""
    return list(_STAND_IN)


class _Switched(Generic[T]):
    """Context manager that gives a variable of the context a value, which it returns."""

    __slots__ = ("_token", "_value", "_variable")

    _token: Token[T]

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> T:
        self._token = self._variable.set(self._value)
        return self._value

    def __exit__(self, *_exception: object) -> None:
        self._variable.reset(self._token)


def reported_programs() -> _Switched[bool]:
    """Return a context in which ProgramReported is raised in the place of starting a program."""
    return _Switched(_REPORTED, True)


def noted_programs() -> _Switched[list[str] | None]:
    """Return a context whose value is a list, to which `report` adds what would be run."""
    return _Switched(_NOTED, [])


def without_programs() -> _Switched[bool | None]:
    """Return a context in which programs are forbidden."""
    return _Switched(_CONTEXT, False)


def programs_permitted() -> _Switched[bool | None]:
    """Return a context in which programs that the user of the command asked for are permitted."""
    return _Switched(_CONTEXT, True)
