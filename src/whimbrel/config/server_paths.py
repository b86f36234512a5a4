"""The directories of servers below a directory, such as those of a copy that has more than a server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from whimbrel.config.servers import server_at

MAX_LEVELS: Final = 3
"""How deep below a folder other servers' folders are looked for."""


def server_paths(conf: Sequence[Path]) -> tuple[list[Path], Sequence[Path]]:
    """Split paths into directories of servers and all others. A main file and its fragments stay together."""
    if len(conf) == 1 and conf[0].is_dir() and not _is_server(conf[0]):
        below = list(_servers_below(conf[0], MAX_LEVELS))
        return (below, []) if below else ([], conf)
    server_dirs = [path for path in conf if path.is_dir() and _is_server(path)]
    return server_dirs, [path for path in conf if path not in server_dirs]


def _is_server(directory: Path) -> bool:
    return server_at(str(directory)) is not None


def _servers_below(directory: Path, levels: int) -> Iterator[Path]:
    """Return the directories of servers below *directory*, none inside another; nothing if other
    configuration lies beside them.
    """
    servers_found = []
    for entry in sorted(directory.iterdir()):
        if entry.is_file() and entry.name.endswith((".conf", ".htaccess")):
            return
        if entry.is_dir() and not entry.is_symlink():
            if _is_server(entry):
                inner = [entry]
            elif levels:
                inner = list(_servers_below(entry, levels - 1))
            else:
                inner = []
            if not inner and _has_configuration(entry):
                return
            servers_found += inner
    yield from servers_found


def _has_configuration(directory: Path) -> bool:
    return any(
        name.endswith((".conf", ".htaccess"))
        for _where, _directories, names in os.walk(directory)
        for name in names
    )
