"""What may be around a fragment: an area that asks for a password, or nothing.

A file that is read alone is upgraded so that it decides as before in both surroundings.  Order and Allow leave an outer Require in force; a Require
line of 2.4 would replace it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, product
from typing import Final

from whimbrel.access.layers import Line
from whimbrel.config.model import SectionKind
from whimbrel.records import replace
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import parse
from whimbrel.upgrade.access_control.chains import Bounds, Chain
from whimbrel.upgrade.access_control.sections import Found, Unit
from whimbrel.upgrade.estate import Estate, Role, SourceFile, Statement
from whimbrel.upgrade.model import InputContext

_PASSWORD: Final = (
    Line("authtype", "Basic"), Line("authname", '"an outer area"'), Line("authbasicprovider", "file"), Line("authuserfile", "/an-outer-area"),
    Line("require", "valid-user"))
_LOCATIONS: Final = frozenset({SectionKind.LOCATION, SectionKind.LOCATION_MATCH})
_MAX_PAIRS: Final = 2000


def password_area() -> Unit:
    """A section that no file holds: it asks for a password, in the same words for both versions."""
    return Unit(SectionKind.DIRECTORY, SourceFile("", parse(b"", V22_LINES)), pattern="/", _told=_PASSWORD)


def is_loose(estate: Estate, unit: Unit) -> bool:
    """Return True if the sections around *unit* are not known."""
    return estate.context is not InputContext.SERVER or unit.file.role is Role.FRAGMENT


def unmapped(estate: Estate, found: Found, chains: list[Chain], bounds: Bounds) -> list[Chain]:
    """*chains*, and for fragments without a DocumentRoot those in which a <Location> meets the directories of its file: any URL may lead there."""
    by_file: dict[tuple[SourceFile, Statement | None], tuple[list[Chain], list[Chain]]] = {}
    for chain in chains:
        last = chain.last
        if is_loose(estate, last) and not last.htaccess and found.key(last.server) not in found.roots:
            kinds = [unit.kind in _LOCATIONS and not unit.proxy for unit in chain.units]
            if all(kinds) or not any(kinds):
                by_file.setdefault((last.file, last.server), ([], []))[all(kinds)].append(chain)
    more: dict[tuple[Unit, ...], Chain] = {}
    for directories, locations in by_file.values():
        if len(directories) * len(locations) > _MAX_PAIRS:
            bounds.hit["not every <Location> of a fragment was tried with every directory"] = None
        for first, second in islice(product(directories, locations), _MAX_PAIRS):
            units = (*first.units, *second.units)
            more[units] = replace(second, units=units, sure=True, overrides=first.overrides)
    rest = [chain for chain in chains if chain.sure or chain.units not in more]
    known = {chain.units for chain in rest}
    return sorted([*rest, *(chain for units, chain in more.items() if units not in known)], key=lambda chain: not chain.sure)


def surrounded(estate: Estate, chains: Iterable[Chain], area: Unit) -> list[Chain]:
    """*chains*, and those of fragments once more below *area*; sure ones first."""
    found = list(chains)
    for chain in list(found):
        if any(is_loose(estate, unit) for unit in chain.units):
            given = ", ".join(filter(None, (chain.given, "below an area that asks for a password")))
            found.append(replace(chain, units=(area, *chain.units), given=given))
    return sorted(found, key=lambda chain: not chain.sure)
