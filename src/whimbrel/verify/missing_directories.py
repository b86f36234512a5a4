"""Directories that a configuration serves and that are not here: probes find empty ones in their place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.derive.mapped_directories import above
from whimbrel.verify.overrides import Overrides

_WILD: Final = frozenset("*?[")


def assume_directories(sides: Iterable[SideLines]) -> dict[str, UnknownItem]:
    """Let directories exist that servers and sections name, for the probes of all *sides*; return an item for
    each by its path, which matters where a side reads .htaccess files."""
    sides = list(sides)
    paths: dict[str, None] = {}
    for lines in sides:
        for server in lines.side.loaded.servers():
            paths.update(dict.fromkeys(lines.served(server).tops))
        for scope in lines.scopes:
            words = scope.words() if scope.kind == "directory" else []
            if len(words) == 1 and not _WILD & set(words[0]):
                paths[words[0].rstrip("/") + "/"] = None
    disks = [lines.side.loaded.disk for lines in sides]
    missing = {
        path for path in paths if path.startswith("/") and not any(disk.exists(path) for disk in disks)
    }
    for path in missing:
        for lines in sides:
            lines.side.probing.assume_directory(path)
    overrides = [Overrides(lines) for lines in sides]
    return {
        path: UnknownItem(
            UnknownKind.MISSING,
            None,
            f"directory {disks[0].place(path) or path} is not here",  # a copy may lack its place
            "it was taken as an empty one",
            matters=any(one.may_read(path) for one in overrides),
        )
        for path in paths
        if path in missing and missing.isdisjoint(above(path))
    }
