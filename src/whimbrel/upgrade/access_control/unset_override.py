"""Hosts and directories without any AllowOverride."""

from __future__ import annotations

from whimbrel.access.directory_walks import overrides_by_server
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.edits import at_start
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.edits.helpers import insert_for_server
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.walk import walk

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class UnsetOverride:
    """A .htaccess file that a host reads without any AllowOverride, and the edit that writes the default of
    2.2 in <Directory />, which all directories of all hosts inherit from.

    Attributes:
        place: the place of the edit.
        edit: the insertion.
        file: the .htaccess file.
        host: the first virtual host that reads it so, if another server has an AllowOverride for it.
    """

    place: SourceLocation
    edit: FileEdit
    file: AccessSection
    host: Statement | None


def unset_override(tree: ConfigTree) -> UnsetOverride | None:
    """Return the first .htaccess file that is read without AllowOverride, None if each has one.

    2.4 refuses any directive there, an empty <IfModule> too; a file of comments has nothing to refuse.
    """
    inventory = analyze_access(tree).inventory
    unset: AccessSection | None = None
    admitted: set[tuple[Statement | None, AccessSection]] = set()
    for server, file, override in overrides_by_server(inventory):
        if override is not None:
            admitted.add((server, file))
        elif unset is None and any(line.in_24 is not False for line in walk(file.file.statements)):
            unset = file
    target = None if unset is None else _insertion(tree)
    if unset is None or target is None:
        return None
    hosts = (
        server
        for server in inventory.servers
        if (server, unset) not in admitted and inventory.is_served_by(server, unset.directory, ())
    )
    host = next(hosts, None) if any(file is unset for _, file in admitted) else None
    return UnsetOverride(*target, unset, host)


def _insertion(tree: ConfigTree) -> tuple[SourceLocation, FileEdit] | None:
    """Return the place and the edit of AllowOverride All in a <Directory /> of the main server."""
    sections = analyze_access(tree).inventory.sections
    root = next(
        (
            section
            for section in sections
            if section.kind is SectionKind.DIRECTORY
            and section.statement is not None
            and section.pattern == "/"
            and section.regex is None
            and section.server is None
            and not section.conditions
        ),
        None,
    )
    if root is not None and root.statement is not None:
        return root.place, at_start(root, ["AllowOverride All"])
    inserted = insert_for_server(tree, ["<Directory />", "    AllowOverride All", "</Directory>"])
    return None if inserted is None else (inserted[0].place, inserted[1])
