"""The unknown surroundings of a fragment: nothing, or a section that requires a password.

A file that is read alone is upgraded so that it decides as before in both surroundings. Order and Allow leave
an outer Require in force; a Require line of 2.4 would replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Final

from whimbrel.access.chains import Bounds
from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.model import LOCATION_KINDS, SectionKind
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import parse
from whimbrel.upgrade.access_control.replacement import FILES
from whimbrel.upgrade.access_control.sections import AccessSection, Chain, Inventory
from whimbrel.upgrade.model import InputContext
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, SourceFile, Statement

_PASSWORD: Final = (
    AccessLine("authtype", "Basic"),
    AccessLine("authname", '"an outer area"'),
    AccessLine("authbasicprovider", "file"),
    AccessLine("authuserfile", "/an-outer-area"),
    AccessLine("require", "valid-user"),
)
_MAX_PAIRS: Final = 2000


def password_area() -> AccessSection:
    """Return a section without a file that requires a password; both versions read its lines alike."""
    return AccessSection(
        kind=SectionKind.DIRECTORY,
        file=SourceFile("", parse(b"", V22_LINES)),
        pattern="/",
        _access_lines=_PASSWORD,
    )


def is_loose(tree: ConfigTree, unit: AccessSection) -> bool:
    """Return True if the sections around *unit* are not known."""
    return is_loose_file(tree, unit.file)


def is_loose_file(tree: ConfigTree, file: SourceFile) -> bool:
    """Return True if the server that reads the file is not known."""
    return tree.context is not InputContext.SERVER or file.role is Role.FRAGMENT


def unmapped(tree: ConfigTree, inventory: Inventory, chains: list[Chain], bounds: Bounds) -> list[Chain]:
    """Return *chains*, and for fragments without DocumentRoot the chains in which a <Location> applies to the
    directories of its file.

    Any URL may be mapped to a directory of a fragment, and any file name may exist in it: these chains are
    certain.
    """
    chains = [*_with_any_name(tree, chains, bounds)]
    by_file: dict[tuple[SourceFile, Statement | None], tuple[list[Chain], list[Chain]]] = {}
    for chain in chains:
        last = chain.last
        if is_loose(tree, last) and not last.in_htaccess and last.server not in inventory.roots:
            kinds = [unit.kind in LOCATION_KINDS and not unit.is_proxy for unit in chain.sections]
            if all(kinds) or not any(kinds):
                by_file.setdefault((last.file, last.server), ([], []))[all(kinds)].append(chain)
    more: dict[tuple[AccessSection, ...], Chain] = {}
    for directories, locations in by_file.values():
        if len(directories) * len(locations) > _MAX_PAIRS:
            bounds.exceeded["not every <Location> of a fragment was tried with every directory"] = None
        for first, second in islice(product(directories, locations), _MAX_PAIRS):
            units = (*first.sections, *second.sections)
            more[units] = replace(second, sections=units, is_certain=True, overrides=first.overrides)
    rest = [chain for chain in chains if chain.is_certain or chain.sections not in more]
    known = {chain.sections for chain in rest}
    return sorted(
        [*rest, *(chain for units, chain in more.items() if units not in known)],
        key=lambda chain: not chain.is_certain,
    )


def _with_any_name(tree: ConfigTree, chains: list[Chain], bounds: Bounds) -> Iterator[Chain]:
    """Yield *chains*; those in which a <Files> section meets a directory of the same fragment are certain."""
    left = _MAX_PAIRS
    for chain in chains:
        has_files = any(unit.kind in FILES and is_loose(tree, unit) for unit in chain.sections)
        if chain.is_certain or not has_files or any(unit.kind in LOCATION_KINDS for unit in chain.sections):
            yield chain
        elif left:
            left -= 1
            yield replace(chain, is_certain=True)
        else:
            bounds.exceeded["not every <Files> of a fragment was tried with every directory"] = None
            yield chain


def surrounded(tree: ConfigTree, chains: Iterable[Chain], area: AccessSection) -> list[Chain]:
    """Return *chains*, and a copy of each chain of a fragment below *area*; certain ones first."""
    all_chains = list(chains)
    for chain in list(all_chains):
        if any(is_loose(tree, unit) for unit in chain.sections):
            given = ", ".join(filter(None, (chain.given, "below an area that asks for a password")))
            all_chains.append(replace(chain, sections=(area, *chain.sections), given=given))
    return sorted(all_chains, key=lambda chain: not chain.is_certain)
