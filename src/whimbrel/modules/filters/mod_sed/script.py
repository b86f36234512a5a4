"""Commands of a sed script, as the parser leaves them and the executor runs them."""

from __future__ import annotations

from enum import Enum

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.filters.mod_sed.regexp import BasicExpression

ALL_MATCHES = 999  # count of s///g


class LastLine(Enum):
    """The address ``$``."""

    LAST = "$"


Address = int | BasicExpression | LastLine
Replacement = tuple[str | int, ...]  # texts, and numbers of groups; 0 is the whole match


class Print(Enum):
    """The flags p and P of ``s``."""

    NOTHING = 0
    ALL = 1
    FIRST_LINE = 2


@dataclass(frozen=True, slots=True)
class SedCommand:
    """One command.

    Attributes:
        name: its letter; a block is ``b`` with the addresses negated.
        first, second: its addresses.
        is_negated: it runs on the lines that the addresses do not select.
        text: of ``a``, ``c``, ``i``; the file name of ``r``; the table of ``y``.
        expression, replacement, count, print: of ``s``; the count is 0, n, or `ALL_MATCHES`.
        file: number of the file of ``w`` and ``s///w``, -1 for none.
        target: index of the command to branch to; None is the end of the script.
    """

    name: str
    first: Address | None = None
    second: Address | None = None
    is_negated: bool = False
    text: str = ""
    expression: BasicExpression | None = None
    replacement: Replacement = ()
    count: int = 0
    print: Print = Print.NOTHING
    file: int = -1
    target: int | None = None


@dataclass(frozen=True, slots=True)
class SedScript:
    """A parsed script.

    Attributes:
        files: names of the files of ``w``.
        no_print: ``#n``: lines are not printed at the end of the script.
        error: reason why the script cannot run, "" if it can.
    """

    commands: tuple[SedCommand, ...]
    files: tuple[str, ...] = ()
    no_print: bool = False
    error: str = ""

    @property
    def reads_files(self) -> bool:
        """Return True if the output depends on files, or if files are written."""
        return bool(self.files) or any(command.name == "r" for command in self.commands)
