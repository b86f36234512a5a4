"""The directories of servers below a directory, such as those of a copy that has more than a server.

`server_in` is the one finder of commands that read one server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from whimbrel.config.servers import FoundServer, server_at

MAX_LEVELS: Final = 3
"""How deep below a folder other servers' folders are looked for."""


def server_paths(conf: Sequence[Path]) -> tuple[list[Path], Sequence[Path]]:
    """Split paths into directories of servers and all others. A main file and its fragments stay together."""
    if len(conf) == 1 and conf[0].is_dir() and not _is_server(conf[0]):
        below = list(_servers_below(conf[0], MAX_LEVELS))
        return (below, []) if below else ([], conf)
    server_dirs = [path for path in conf if path.is_dir() and _is_server(path)]
    return server_dirs, [path for path in conf if path not in server_dirs]


def server_in(path: str, *, as_server: bool = False) -> FoundServer | None:
    """Return the server that *path* is or contains, else the only one in a directory below it; None if there
    is none, or more than one. *as_server* accepts any file with the name of a main file.
    """
    found = server_at(path)
    if found is None and as_server:
        found = server_at(path, as_server=True)
    if found is not None or not os.path.isdir(path):
        return found
    below, _others = server_paths([Path(path)])
    return server_at(str(below[0])) if len(below) == 1 else None


def _is_server(directory: Path) -> bool:
    return server_at(str(directory)) is not None


def _servers_below(directory: Path, levels: int) -> Iterator[Path]:
    """Return the directories of servers below *directory*, none in another; none beside other files."""
    servers_found = []
    try:
        entries = sorted(directory.iterdir())
    except OSError:  # reading it as configuration names the fault
        return
    for entry in entries:
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
