"""Confinement of a command that looks at the files of somebody else: no program, no write but its own.

Every place that starts a program asks for permission (`base/programs.py`), and every command writes through
`base/file_writing.py`. This is the second line: an audit hook of the interpreter, which no code of a module
can pass by mistake. It refuses with PermissionError, as the system does.
"""

from __future__ import annotations

import errno
import os
import sys
from contextvars import ContextVar

from whimbrel.base.programs import may_start_programs
from whimbrel.base.static_typing import Any, Final

_PROGRAMS: Final = frozenset(
    ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn", "os.startfile")
)
_WRITES: Final = frozenset(
    (
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.removexattr",
        "os.symlink",
        "os.truncate",
        "sqlite3.connect",
    )
)
_FOR_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES: Final = ("/dev/null", b"/dev/null", "/dev/tty", b"/dev/tty")
WRITING: Final[ContextVar[bool]] = ContextVar("the one writer of files writes", default=False)


def confine() -> None:
    """Refuse programs and writes in this process and in the processes that it forks, for good."""
    sys.dont_write_bytecode = True
    sys.addaudithook(_check)


def _check(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, _mode, flags = arguments
        if (
            not isinstance(flags, int)
            or not flags & _FOR_WRITING
            or isinstance(path, int)
            or path in _DEVICES
        ):
            return
    elif event in _PROGRAMS:
        if may_start_programs():
            return
    elif event not in _WRITES:
        return
    elif event in ("os.chmod", "os.chown", "os.truncate") and isinstance(arguments[0], int):
        return  # of an open descriptor, which was opened for writing
    if event in _PROGRAMS or not (WRITING.get() or may_start_programs()):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
