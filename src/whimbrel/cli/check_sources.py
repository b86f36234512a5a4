"""The servers below a directory, and reports about single files that options name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from whimbrel.cli.check_files import findings_by_file
from whimbrel.config.servers import server_at
from whimbrel.report.entries import entry_of
from whimbrel.report.model import Report

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


# single files --------------------------------------------------------------------------------------
def files_report(paths_by_option: dict[str, Path]) -> Report:
    """Report the findings on the files that *given* names; raise UsageError for a missing file."""
    report = Report()
    for path, findings in findings_by_file(paths_by_option):
        report.files.append(path)
        report.entries += [entry_of(finding) for finding in findings]
    return report
