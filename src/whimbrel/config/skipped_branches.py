"""Branches that a server does not read: <IfDefine>, <IfModule> and <IfVersion> sections that are not true."""

from __future__ import annotations

from collections.abc import Container

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.static_typing import Final
from whimbrel.syntax.words import getword

_HOST: Final = "<virtualhost"
_NAMES: Final = ("servername", "include", "includeoptional", _HOST)
_DEFINE: Final = "<ifdefine "
_LONGEST: Final = max(map(len, _NAMES))


@dataclass(frozen=True, slots=True)
class SkippedBranch:
    """One branch whose lines are not read.

    Attributes:
        place: the line of the section.
        condition: the section as written, such as ``<IfDefine SSL>``.
        hosts: the names of the virtual hosts in it, their addresses where they have none.
        files: what its Include lines name.
        is_of_lines: the condition is that of a name about which a Define or UnDefine line before it decides.
    """

    place: SourceLocation
    condition: str
    hosts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_of_lines: bool = False

    @property
    def defined_name(self) -> str:
        """The name of an <IfDefine> section, after "!" if it is negated; "" for other sections."""
        is_define = self.condition.lower().startswith(_DEFINE)
        return self.condition[len(_DEFINE) :].rstrip(">").strip().strip('"') if is_define else ""


class BranchContents:
    """What the lines of one branch would have added to the server."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.files: list[str] = []
        self._is_unnamed = False

    def add(self, line: str) -> None:
        """Take a line of the branch, without the white space around it."""
        if not line[:_LONGEST].lower().startswith(_NAMES):
            return
        word, at = getword(line)
        name = word.lower()
        if name not in _NAMES:
            return
        argument = getword(line, at)[0]
        if name == _HOST:
            self.hosts.append(argument.rstrip(">"))
        elif name == "servername":
            if self._is_unnamed and self.hosts:
                self.hosts[-1] = argument
        else:
            self.files.append(argument)
        self._is_unnamed = name == _HOST or (self._is_unnamed and name != "servername")

    def branch(self, place: SourceLocation, condition: str, decided_names: Container[str]) -> SkippedBranch:
        """Return the branch; *decided_names* are those of the Define and UnDefine lines before it."""
        branch = SkippedBranch(place, condition, tuple(self.hosts), tuple(self.files))
        return replace(branch, is_of_lines=branch.defined_name.removeprefix("!") in decided_names)
