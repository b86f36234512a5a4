"""Files that `whimbrel upgrade --write` has written, and that a side reads by the rules of 2.2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.dialect import V22
from whimbrel.base.errors import SourceLocation
from whimbrel.base.real_paths import real_path
from whimbrel.config.execute import root_relative
from whimbrel.upgrade.apply.backup_paths import present_backup
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.side import Side

ADVICE: Final = "--backups compares with the texts that it has replaced"


def written_by_upgrade(sides: Iterable[Side | SideLines]) -> Iterator[UnknownItem]:
    """Yield an item if a side of 2.2 reads files of which an upgrade keeps backups, and not these.

    Of a side that does not load, these are the main file and the file with the line that stops it.
    """
    for one in sides:
        side = one.side if isinstance(one, SideLines) else one
        options = side.options
        if isinstance(one, SideLines):
            paths = [scope.path for scope in one.scopes if scope.path]
        else:
            paths = [error.place.path for error in side.errors if error.place is not None]
            paths.append(root_relative(options.server_root, options.file))
        found = [
            path
            for path in (dict.fromkeys(paths) if side.dialect is V22 else ())
            if options.overlay.keys().isdisjoint((path, real_path(path)))
            and present_backup(path, options.server_root)
        ]
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            yield UnknownItem(
                UnknownKind.WRITTEN,
                SourceLocation(found[0], 1),
                f"`whimbrel upgrade` has written this file{more}",
                "2.2 has never answered by it",
                ADVICE,
            )
