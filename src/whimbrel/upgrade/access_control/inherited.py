"""Folders about which no AllowOverride says anything."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.config.model import SectionKind
from whimbrel.errors import Place
from whimbrel.upgrade.access_control.control import control, outermost
from whimbrel.upgrade.access_control.edits import at_start
from whimbrel.upgrade.estate import Estate, Statement
from whimbrel.upgrade.model import FileEdit


def unset_folders(estate: Estate) -> Iterator[tuple[Place, FileEdit]]:
    """Where a line is missing, and the edit that puts it there: in <Directory />, which all others are laid over."""
    made = control(estate)
    if not any(override is None for chain in made.chains for _, override in chain.overrides):
        return
    directories = [unit for unit in made.found.units if unit.kind is SectionKind.DIRECTORY and unit.statement is not None]
    root = next((unit for unit in directories if unit.pattern == "/" and unit.regex is None and unit.server is None), None)
    if root is not None and root.statement is not None:
        yield root.place, at_start(root, ["AllowOverride All"])
        return
    first = min((outermost(unit.statement) for unit in made.found.units if unit.statement is not None and not unit.htaccess),
                key=lambda statement: statement.node.start, default=None) or _last(estate)
    if first is not None:
        yield first.place, first.before(["<Directory />", "    AllowOverride All", "</Directory>"])


def _last(estate: Estate) -> Statement | None:
    return estate.statements[-1] if estate.statements else None
