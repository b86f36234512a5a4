"""A file that is read without its server: the server that reads it, and the command that upgrades both.

What a part needs may stand in other files of its server, which an upgrade of the part alone does not see.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import from_system, to_bytes, to_system
from whimbrel.cli.next_commands import command_line, quoted_words
from whimbrel.cli.options import ConfigArguments, sources
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.upgrade.source.reading import Sources

MAX_ABOVE: Final = 5
"""Directories above a file that may be those of its server."""
FOR_THE_PART: Final = "Or, as a part of another server"
"""Begin of the line with the command for the file alone."""


def server_of_part(what: Sources) -> str:
    """Return the command that shows what the upgrade of its server changes in a file that was read alone; ""
    without a server around it that reads it.
    """
    if what.options is not None or len(what.fragments) != 1:
        return ""
    path = os.path.realpath(to_bytes(what.fragments[0]))
    root = server_around(path)
    return command_line("upgrade", to_system(root), os.fsdecode(path)) if root else ""


def about_part(what: Sources, around: str) -> list[str]:
    """Return the lines in front of the command for one file alone: that with its server, *around*, or how to
    name it; nothing for a server, and for several files.
    """
    if what.options is not None or len(what.fragments) != 1:
        return []
    if around:
        return [f"Next: {around}"]
    named = quoted_words(to_system(what.fragments[0]))
    return [f"First: name its server, if it is here, for what it needs: whimbrel upgrade SERVER {named}"]


def server_around(path: bytes) -> str:
    """Return the root of a server in one of the directories above the file *path* that reads it; "" for none.

    Which server reads a file depends on its Include lines and its documents, so its files are read.
    """
    from whimbrel.config.servers import server_at
    from whimbrel.upgrade.model import UpgradeOptions
    from whimbrel.upgrade.source.reading import read_config_tree

    for one in Path(os.fsdecode(path)).parents[:MAX_ABOVE]:
        found = server_at(from_system(str(one))) if one != Path("/") else None
        if found is None:
            continue
        try:
            server, _ = sources(ConfigArguments([Path(to_system(found.root))]))
            tree = read_config_tree(server, UpgradeOptions())
        except UsageError:
            continue
        read = (file for file in tree.files if file not in tree.lone_paths)
        if any(os.path.realpath(to_bytes(file)) == path for file in read):
            return found.root
    return ""
