"""Values that a program would print, where no program may be started: placeholders, named as not decided."""

from __future__ import annotations

from typing import Final

from whimbrel.directives.command import Command

NOT_RUN: Final = "(not decided: the program was not run)"
"""The value in the place of the one that a program would print."""


def note_program(cmd: Command, program: str) -> None:
    """Note that the value of a line is not decided; a tool names it among what it left out."""
    text = f"{cmd.name}: {program} was not run: the tools run no program; its value is not decided"
    cmd.leave_undecided(text)
