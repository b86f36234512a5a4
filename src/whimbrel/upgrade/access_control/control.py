"""The access control of one estate, worked out once and asked by all rules about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from whimbrel.access.decision import Counterexample
from whimbrel.octets import raw
from whimbrel.records import dataclass
from whimbrel.upgrade.access_control.chains import Bounds, Chain, chains
from whimbrel.upgrade.access_control.choose import Solver, Written
from whimbrel.upgrade.access_control.edits import of_unit
from whimbrel.upgrade.access_control.native import ALIAS, BROKEN
from whimbrel.upgrade.access_control.sections import Found, Unit, absolute, find
from whimbrel.upgrade.access_control.split import Form
from whimbrel.upgrade.access_control.states import said
from whimbrel.upgrade.estate import Estate, Statement
from whimbrel.upgrade.model import FileEdit, Style


@dataclass(slots=True, eq=False)
class Control:
    """*written* says what each section becomes; sections that say nothing about access are not in it.  *bounds* says what wasn't tried."""

    found: Found
    chains: list[Chain]
    solver: Solver
    written: dict[Unit, Written]
    bounds: Bounds

    def edits(self, estate: Estate, unit: Unit, form: Form | None = None) -> tuple[FileEdit, ...]:
        """What makes the section's text say that, or *form*."""
        if unit in self.solver.dead:
            return ()
        return of_unit(unit, form or self.written[unit].form, self.solver.kept[unit], self.solver.gone, also_22=estate.wishes.also_22)


    def difference(self, unit: Unit, form: Form) -> Counterexample | None:
        """A client that *form* treats otherwise than 2.2 did."""
        forms = {known: written.form for known, written in self.written.items()} | {unit: form}
        return next((found for chain in self.solver.ends[unit] if (found := self.solver.differs(chain, forms)[1]) is not None), None)

    def alias(self) -> tuple[FileEdit, ...]:
        """The container that says what `native.BROKEN` means, where a section needs it: in front of the first section that does."""
        users = [unit for unit, written in self.written.items()
                 if any(one.args == BROKEN.text for lines in (written.control, *(r.control for r in written.form.repeats)) for one in said(lines))]
        if not users:
            return ()
        text = [f"<AuthzProviderAlias {ALIAS.args}>", "</AuthzProviderAlias>"]
        first = min((outermost(unit.statement) for unit in self.found.units if unit.statement is not None and not unit.htaccess),
                    key=lambda statement: statement.node.start, default=None)
        return (first.before(text),) if first is not None else ()


def outermost(statement: Statement) -> Statement:
    """The section around all others around it."""
    while statement.parent is not None and statement.parent.is_section:
        statement = statement.parent
    return statement


def _readable(estate: Estate) -> Callable[[str], bool | None]:
    """Whether a password or group file is there; where none of those that are named is, they are somewhere else and nothing is known."""
    lines = estate.named("authuserfile", "authgroupfile", "authdbmuserfile", "authdbmgroupfile")
    if not any(_is_there(absolute(estate.root, line.words()[0])) for line in lines if line.words()):
        return lambda _path: None
    return _is_there


def _is_there(path: str) -> bool:
    return any(os.path.isfile(raw(path + ending)) for ending in ("", ".pag", ".db"))


CARRIED: Final = "access control is carried"
"""In `told`: edits were made, and what is read now is what they made."""


def told(estate: Estate) -> dict[object, object]:
    """What outlives edits."""
    found = estate.memo.setdefault("told", {})
    assert isinstance(found, dict)
    return found


def control(estate: Estate) -> Control:
    """Everything about access control; the first call works it out."""
    known = estate.memo.get("access control")
    if isinstance(known, Control):
        return known
    found = find(estate)
    bounds = Bounds()
    every = chains(estate, found, bounds)
    solver = Solver(found.units, every, estate.modules, estate.root, _readable(estate), compat_first=estate.wishes.style is Style.COMPAT,
                    carried=CARRIED in told(estate))
    made = Control(found, every, solver, solver.solve(), bounds)
    estate.memo["access control"] = made
    return made
