"""The configuration that a file belongs to: that of the setting, or the first server found at or above it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from whimbrel.base.latin1 import from_system, to_bytes, to_system
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.servers import server_at
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.upgrade.source.reading import Sources
from whimbrel.utilities.usage_error import UsageError

MAX_LEVELS: Final = 4
"""Directories above a file that are looked at if it is in no directory of the workspace."""
MAX_DIRECTORIES: Final = 4096
"""Directories whose servers are kept."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is read together: a server by its main file, or one file alone.

    Attributes:
        path: the main file, or the file.
        is_server: the file is the main file of a server.
    """

    path: str
    is_server: bool


class MainFiles:
    """Finder of the server of a file, by the rules of `whimbrel check`.

    Key of the cache: a file or directory. Value: the main file of its server, "" for none. Valid until a file
    is saved, created or removed; emptied at MAX_DIRECTORIES entries.
    """

    def __init__(self) -> None:
        self.named = ""
        self.directories: tuple[str, ...] = ()
        self._of_directory: dict[str, str] = {}

    def configure(self, named: str, directories: Iterable[str]) -> None:
        """Set the main file that the user named ("" for none) and the directories of the workspace."""
        self.directories = tuple(path.rstrip("/") for path in directories if path.strip("/"))
        base = self.directories[0] if self.directories else "/"
        self.named = os.path.normpath(os.path.join(base, named)) if named else ""
        self.forget()

    def forget(self) -> None:
        """Look at the disk again."""
        self._of_directory.clear()

    def unit_of(self, path: str) -> Unit:
        """Return the unit that decides about the file *path*."""
        main = self.named or self._main_at(path) or self._main_above(path)
        return Unit(main, True) if main else Unit(path, False)

    def first_path(self) -> str:
        """Return a path in the first directory of the workspace, for a command that names no file."""
        return f"{self.directories[0]}/" if self.directories else "/"

    def _main_at(self, path: str) -> str:
        """Return the main file at a file or directory, "" for none."""
        main = self._of_directory.get(path)
        return self._looked_up(path) if main is None else main

    def _main_above(self, path: str) -> str:
        top = max((f for f in self.directories if path.startswith(f"{f}/")), key=len, default="")
        directory = os.path.dirname(path)
        for _ in range(len(path) if top else MAX_LEVELS):
            if directory == os.path.dirname(directory):  # / has the server of this machine
                break
            main = self._main_at(directory)
            if main or directory == top:
                return main
            directory = os.path.dirname(directory)
        return ""

    def _looked_up(self, path: str) -> str:
        """Look at the disk for `_main_at`, and keep the result."""
        main = ""
        try:
            if os.path.exists(to_bytes(path)):
                server = server_at(to_system(path))
                main = from_system(server.path) if server is not None else ""
        except (OSError, ValueError):  # a path with a zero byte, or one that may not be read
            main = ""
        if len(self._of_directory) >= MAX_DIRECTORIES:
            self.forget()
        self._of_directory[path] = main
        return main


def sources_of(unit: Unit, overlay: dict[str, bytes]) -> Sources:
    """Return what `whimbrel check` reads for *unit*, with open documents in place of files; raises
    UsageError."""
    if not unit.is_server:
        return Sources(fragments=(unit.path,))
    try:
        found, _directory = sources(ConfigArguments([Path(to_system(unit.path))], as_server=True))
    except OSError as problem:
        raise UsageError(f"{unit.path}: {problem.strerror}") from None
    if found.options is None:
        raise UsageError(f"{unit.path}: no configuration of a server")
    return replace(found, options=replace(found.options, overlay={**found.options.overlay, **overlay}))
