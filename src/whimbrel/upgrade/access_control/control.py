"""The access control of one estate, worked out once and asked by all rules about it."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.upgrade.access_control.chains import Chain, chains
from whimbrel.upgrade.access_control.choose import Solver, Written
from whimbrel.upgrade.access_control.edits import of_unit
from whimbrel.upgrade.access_control.sections import Found, Unit, find
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import FileEdit, Style


@dataclass(slots=True, eq=False)
class Control:
    """*written* says what each section becomes; sections that say nothing about access are not in it."""

    found: Found
    chains: list[Chain]
    solver: Solver
    written: dict[Unit, Written]

    def edits(self, estate: Estate, unit: Unit) -> tuple[FileEdit, ...]:
        """What makes the section's text say that."""
        return of_unit(unit, self.written[unit].control, self.solver.kept[unit], also_22=estate.wishes.also_22)


def control(estate: Estate) -> Control:
    """Everything about access control; the first call works it out."""
    known = estate.memo.get("access control")
    if isinstance(known, Control):
        return known
    found = find(estate)
    every = chains(estate, found)
    solver = Solver(found.units, every, estate.modules, estate.root, compat_first=estate.wishes.style is Style.COMPAT)
    made = Control(found, every, solver, solver.solve())
    estate.memo["access control"] = made
    return made
