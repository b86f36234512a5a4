"""What may be around a fragment: an area that asks for a password, or nothing.

A file that is read alone is upgraded so that it decides as before in both surroundings.  Order and Allow leave an outer Require in force; a Require
line of 2.4 would replace it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.access.layers import Line
from whimbrel.config.model import SectionKind
from whimbrel.records import replace
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import parse
from whimbrel.upgrade.access_control.chains import Chain
from whimbrel.upgrade.access_control.sections import Unit
from whimbrel.upgrade.estate import Estate, Role, SourceFile
from whimbrel.upgrade.model import InputContext

_PASSWORD: Final = (
    Line("authtype", "Basic"), Line("authname", '"an outer area"'), Line("authbasicprovider", "file"), Line("authuserfile", "/an-outer-area"),
    Line("require", "valid-user"))


def password_area() -> Unit:
    """A section that no file holds: it asks for a password, in the same words for both versions."""
    return Unit(SectionKind.DIRECTORY, SourceFile("", parse(b"", V22_LINES)), pattern="/", _told=_PASSWORD)


def is_loose(estate: Estate, unit: Unit) -> bool:
    """Return True if the sections around *unit* are not known."""
    return estate.context is not InputContext.SERVER or unit.file.role is Role.FRAGMENT


def surrounded(estate: Estate, chains: Iterable[Chain], area: Unit) -> list[Chain]:
    """*chains*, and those of fragments once more below *area*; sure ones first."""
    found = list(chains)
    for chain in list(found):
        if any(is_loose(estate, unit) for unit in chain.units):
            given = ", ".join(filter(None, (chain.given, "below an area that asks for a password")))
            found.append(replace(chain, units=(area, *chain.units), given=given))
    return sorted(found, key=lambda chain: not chain.sure)
