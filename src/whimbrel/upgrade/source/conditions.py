"""Open conditions: -D names, and modules that may be compiled in.

Each is an atom of a decision: the decision of 2.2 is computed for both values, and the new text must give the
same decisions for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.catalogue import catalogue
from whimbrel.syntax.words import getword
from whimbrel.upgrade.source.config_tree import Statement

TRANSPARENT: Final = frozenset({"<ifmodule", "<ifdefine", "<ifversion"})
"""Sections of 2.2 that decide only whether their lines are read."""
MAX_CONDITIONS: Final = 6
"""The maximum number of conditions of one chain; all their combinations are computed."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The test of an <IfDefine> or <IfModule> section.

    Attributes:
        container: the name of the section, ``ifdefine`` or ``ifmodule``.
        key: the tested name; for a module its identifier, because a module has two names.
        text: the name as written.
    """

    container: str
    key: str
    text: str = field(compare=False)


Values = Mapping[Condition, bool]


@dataclass(frozen=True, slots=True)
class Literal:
    """A condition or its negation."""

    condition: Condition
    positive: bool = True

    def holds(self, values: Values) -> bool:
        """Return True if *values* satisfy it; a condition without a value satisfies both forms."""
        return values.get(self.condition, self.positive) is self.positive

    @property
    def text(self) -> str:
        """The literal as text for messages."""
        name = f"-D {self.condition.text}" if self.condition.container == "ifdefine" else self.condition.text
        return f"{'with' if self.positive else 'without'} {name}"

    def around(self, lines: tuple[AccessLine, ...]) -> AccessLine:
        """Return the section that reads *lines* exactly if the literal holds."""
        return AccessLine(
            self.condition.container, ("" if self.positive else "!") + self.condition.text, None, lines
        )


def literal_of(branch: Statement) -> Literal:
    """Return the literal of an <IfDefine> or <IfModule> section."""
    name = getword(branch.args)[0].strip()
    written = getword(_raw_args(branch))[0].strip()
    return _literal(
        branch.name.removeprefix("<"), name, written if (written[:1] == "!") is (name[:1] == "!") else name
    )


def literal_of_line(line: AccessLine) -> Literal:
    """Return the literal of a section that `Literal.around` returned."""
    return _literal(line.name, line.args, line.args)


def _literal(container: str, name: str, written: str) -> Literal:
    key = name.removeprefix("!")
    return Literal(
        Condition(container, _identifier(key) if container == "ifmodule" else key, written.removeprefix("!")),
        name[:1] != "!",
    )


def _raw_args(branch: Statement) -> str:
    args, bracket, _ = branch.node.args.rpartition(">")
    return args if bracket else branch.node.args


def _identifier(name: str) -> str:
    for version in ("2.2", "2.4"):
        for row in catalogue(version).modules:
            if name in (row.identifier, row.source):
                return row.identifier
    return name


def branches_between(statement: Statement, outer: Statement | None) -> Iterator[Statement]:
    """Yield the branches around *statement* within *outer*, innermost first."""
    current = statement.parent
    while current is not None and current is not outer:
        if current.name in TRANSPARENT:
            yield current
        current = current.parent


def literals(statement: Statement, outer: Statement | None) -> tuple[Literal, ...]:
    """Return the open conditions of *statement* within *outer*, outermost first."""
    inner_first: list[Literal] = []
    current = statement.parent
    while current is not None and current is not outer:  # as `branches_between`; most lines have none
        if current.taken[0] is None and current.name in TRANSPARENT and current.name != "<ifversion":
            inner_first.append(literal_of(current))
        current = current.parent
    return tuple(reversed(inner_first))


def is_contradictory(conditions: tuple[Literal, ...]) -> bool:
    """Return True if no values satisfy all of *conditions*: the statement is never read."""
    return len({literal.condition for literal in conditions}) < len(set(conditions))


def is_open(statement: Statement, outer: Statement | None = None) -> bool:
    """Return True if an open condition within *outer* decides whether 2.2 reads *statement*."""
    return any(map(is_open_branch, branches_between(statement, outer)))


def is_open_branch(branch: Statement) -> bool:
    """Return True if the text does not settle whether 2.2 reads the lines of *branch*."""
    return branch.taken[0] is None


def is_lost(statement: Statement, outer: Statement | None) -> bool:
    """Return True if a branch within *outer* may keep 2.4 from reading what 2.2 reads at *statement*."""
    return any(
        branch.taken[0] is True and branch.taken[1] is not True
        for branch in branches_between(statement, outer)
    )


def is_unclear(statement: Statement, outer: Statement | None) -> bool:
    """Return True if a branch within *outer* is open for 2.2 and means something else to 2.4, or cannot be
    read."""
    return any(map(is_unclear_branch, branches_between(statement, outer)))


def is_unclear_branch(branch: Statement) -> bool:
    """Return True if *branch* is open for 2.2 and means something else to 2.4, or cannot be read."""
    return is_open_branch(branch) and (branch.taken[1] is not None or branch.name == "<ifversion")
