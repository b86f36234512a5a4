"""Directories without any AllowOverride."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.access.chains import overrides_of_servers
from whimbrel.base.errors import SourceLocation
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control.analysis import analyze_access, outermost
from whimbrel.upgrade.access_control.edits import at_start
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def unset_override_edits(tree: ConfigTree) -> Iterator[tuple[SourceLocation, FileEdit]]:
    """Yield each place without AllowOverride, and the edit that inserts it in <Directory />, which all
    directories inherit from."""
    analysis = analyze_access(tree)
    unset = {file for chain in analysis.chains for file, override in chain.overrides if override is None}
    if not unset or not any(
        override is None and file in unset for file, override in overrides_of_servers(analysis.inventory)
    ):
        return
    directories = [
        section
        for section in analysis.inventory.sections
        if section.kind is SectionKind.DIRECTORY and section.statement is not None
    ]
    root = next(
        (
            section
            for section in directories
            if section.pattern == "/" and section.regex is None and section.server is None
        ),
        None,
    )
    if root is not None and root.statement is not None:
        yield root.place, at_start(root, ["AllowOverride All"])
        return
    first = min(
        (
            outermost(section.statement)
            for section in analysis.inventory.sections
            if section.statement is not None and not section.in_htaccess
        ),
        key=lambda statement: statement.node.start,
        default=None,
    ) or _last_statement(tree)
    if first is not None:
        yield first.place, first.insert_before(["<Directory />", "    AllowOverride All", "</Directory>"])


def _last_statement(tree: ConfigTree) -> Statement | None:
    return tree.statements[-1] if tree.statements else None
