"""Programs that all workers of a generation share: started by the master before it forks, watched by it, and
released with the generation.

A module provides a function (group `registry.module.PROGRAMS`) that gets the configuration and a
`ProgramHost`, starts what the configuration needs and returns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whimbrel.base.static_typing import Protocol


class SharedProgram(Protocol):
    """A program, or a process that keeps several.

    Attributes:
        name: of `Runtime.program`.
    """

    name: str

    def release(self, *, at_once: bool) -> None:
        """Release the program: it ends with the last worker of its generation, or *at_once*."""

    def ended(self, pid: int) -> bool:
        """Replace the process *pid*, which has ended, if it is the program's own; return True if it is."""


class ProgramHost(Protocol):
    """The master, as programs see it."""

    def log(self, level: str, text: str, *, code: str = "", module: str = "core", cause: str = "") -> None:
        """Write a line without a request to the error log."""

    def fork(self, work: Callable[[], None], keep: Iterable[int], *, as_root: bool = False) -> int:
        """Run *work* in a new process of the configured user, or *as_root*; return its number.

        Of the descriptors it has the error logs and *keep*.
        """
