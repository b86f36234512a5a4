"""Detection of the main file of a server, and of the directory that is its ServerRoot.

A file is a whole server if it has a ServerRoot line, or the name of a main file and a line of server level.
Every other file is a fragment: its modules and enclosing sections are unknown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.lazy_dataclasses import dataclass

MAINS: Final = ("conf/httpd.conf", "apache2.conf", "httpd.conf", "conf/apache2.conf")
"""Main files below a server root, in the order of preference."""
NAMES: Final = frozenset({"httpd.conf", "httpd2.conf"})
"""Names of main files; Debian's apache2.conf is recognized by its Include of mods-enabled."""
SERVER_LINES: Final = re.compile(
    rb"^[ \t]*(?:loadmodule|listen|pidfile|user|maxclients|maxrequestworkers)[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
SERVER_ROOT: Final = re.compile(
    rb"^[ \t]*serverroot[ \t]+(\"[^\"\r\n]*\"|[^\s\"]+)", re.IGNORECASE | re.MULTILINE
)
INCLUDED_MODULES: Final = re.compile(
    rb"^[ \t]*include(?:optional)?[ \t]+\S*mods-enabled/", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class MainFile:
    """Main file of a server; *root* replaces the ServerRoot that its text names."""

    root: Path
    file: Path


def main_file(path: Path, *, as_server: bool = False) -> MainFile | None:
    """Return the main file that *path* is or contains; None for a fragment. *as_server* accepts any file."""
    if path.is_dir():
        own = ("httpd.conf", "apache2.conf") if path.name == "conf" else ()
        files = [path / name for name in (*own, *MAINS) if (path / name).is_file()]
        return next(
            (found for file in files if (found := main_file(file, as_server=as_server)) is not None), None
        )
    file = Path(os.path.abspath(path))
    try:
        data = read_regular(bytes(file))
    except OSError:
        return None
    root = _root(file, data)
    return MainFile(root, file) if as_server or _is_server(file, data, root) else None


def directory_of(file: Path) -> Path:
    """Return the server root of a main file by its position: its directory, or the parent of a directory
    conf.
    """
    return file.parent.parent if file.parent.name == "conf" else file.parent


def _root(file: Path, data: bytes) -> Path:
    """Return the ServerRoot of the text if it contains the file; else, in a copy, the position of the file
    decides.
    """
    named = SERVER_ROOT.search(data)
    text = os.fsdecode(named[1].strip(b'"')) if named else ""
    if text.startswith("/") and os.path.realpath(file).startswith(os.path.realpath(text).rstrip("/") + "/"):
        return Path(text)
    return directory_of(file)


def _is_server(file: Path, data: bytes, root: Path) -> bool:
    if "htaccess" in file.name:
        return False
    if INCLUDED_MODULES.search(data):
        return (root / "mods-enabled").is_dir()  # Debian's main file is incomplete without its modules
    return SERVER_ROOT.search(data) is not None or (
        file.name.lower() in NAMES and SERVER_LINES.search(data) is not None
    )
