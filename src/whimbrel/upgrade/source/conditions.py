"""Conditions that an upgrade cannot settle: -D names, modules that may be compiled in.  Each is an atom of a decision: what 2.2 decided is worked out
for both of its values, and the new text must decide the same for both.
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
"""Sections of 2.2 that only decide whether their lines are read."""
MAX_CONDITIONS: Final = 6
"""Conditions of one chain of sections whose combinations are all worked out."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One question of <IfDefine> or <IfModule>.

    Attributes:
        container: the section's name, ``ifdefine`` or ``ifmodule``.
        key: the name that is tested; of a module its identifier, because two names may mean one module.
        text: the name as it is written.
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
        """The literal for messages."""
        name = f"-D {self.condition.text}" if self.condition.container == "ifdefine" else self.condition.text
        return f"{'with' if self.positive else 'without'} {name}"

    def around(self, lines: tuple[AccessLine, ...]) -> AccessLine:
        """The section that reads *lines* exactly where the literal holds."""
        return AccessLine(
            self.condition.container, ("" if self.positive else "!") + self.condition.text, None, lines
        )


def literal_of(branch: Statement) -> Literal:
    """The literal of an <IfDefine> or <IfModule> section."""
    name = getword(branch.args)[0].strip()
    written = getword(_raw_args(branch))[0].strip()
    return _literal(
        branch.name.removeprefix("<"), name, written if (written[:1] == "!") is (name[:1] == "!") else name
    )


def literal_of_line(line: AccessLine) -> Literal:
    """The literal of a section that `Literal.around` has made."""
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
    """The branches around *statement* within *outer*, innermost first."""
    current = statement.parent
    while current is not None and current is not outer:
        if current.name in TRANSPARENT:
            yield current
        current = current.parent


def literals(statement: Statement, outer: Statement | None) -> tuple[Literal, ...]:
    """The open conditions under which *statement* is read within *outer*, outermost first."""
    found = [
        literal_of(branch)
        for branch in branches_between(statement, outer)
        if branch.taken[0] is None and branch.name != "<ifversion"
    ]
    return tuple(reversed(found))


def is_contradictory(found: tuple[Literal, ...]) -> bool:
    """Return True if no values satisfy all of *found*: what stands there is never read."""
    return len({literal.condition for literal in found}) < len(set(found))


def is_open(statement: Statement) -> bool:
    """Return True if an open condition decides whether 2.2 reads *statement*."""
    return any(branch.taken[0] is None for branch in branches_between(statement, None))


def is_lost(statement: Statement, outer: Statement | None) -> bool:
    """Return True if a branch within *outer* may keep 2.4 from reading what 2.2 reads at *statement*."""
    return any(
        branch.taken[0] is True and branch.taken[1] is not True
        for branch in branches_between(statement, outer)
    )


def is_unclear(statement: Statement, outer: Statement | None) -> bool:
    """Return True if a branch within *outer* is open for 2.2 and means something else to 2.4, or cannot be read."""
    return any(
        branch.taken[0] is None and (branch.taken[1] is not None or branch.name == "<ifversion")
        for branch in branches_between(statement, outer)
    )
