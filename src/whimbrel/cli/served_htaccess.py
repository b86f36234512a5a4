"""The .htaccess files of a server that `whimbrel serve` runs: those that 2.4 refuses, and those whose
upgraded copy no server reads.

`upgrade --out` writes .htaccess files into the copy, at the paths that they have below the old server root.
Lines of the copy name the documents where they were: a server reads the old files beside them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_bytes, to_system, to_text
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import OPT_ALL, OPT_MULTI, OPT_SYM_OWNER, CoreServerConfig
from whimbrel.config.htaccess import ALL, Override, parse

NAME: Final = ".htaccess"
MAX_DIRECTORIES: Final = 20_000
"""Directories that are searched below all document roots: a start does not wait for more."""
MAX_NAMED: Final = 3


def htaccess_notes(configuration: Configuration) -> list[str]:
    """Return sentences about the .htaccess files beside the documents of a server in its place."""
    roots = _document_roots(configuration)
    files = list(_htaccess_files(roots))
    copies = [(path, copy) for path in files for copy in _copies(path, configuration.root, roots)]
    refused = list(_refused(configuration, files)) if configuration.dialect.messages_24 else []
    if not copies and not refused:
        return []
    read = _files_read(configuration)
    copies = [one for one in copies if one[0] in read]
    refused = [one for one in refused if one[0] in read]
    notes = [
        f"{path} is read, not {copy}, which `whimbrel verify` reads in its place"
        for path, copy in copies[:MAX_NAMED]
    ]
    if len(copies) > MAX_NAMED:
        notes.append(f"{len(copies) - MAX_NAMED} more .htaccess files are read, and not their copies")
    for path, line, reason in refused[:MAX_NAMED]:
        notes.append(f"500 for each request below {os.path.dirname(path)}: {path}:{line}: {reason}")
    if len(refused) > MAX_NAMED:
        notes.append(f"500 below {len(refused) - MAX_NAMED} more directories, by their .htaccess files")
    if notes:
        notes.append("`whimbrel upgrade --write` of the server of 2.2 changes these files")
    return notes


def _document_roots(configuration: Configuration) -> list[str]:
    """Return the document roots, none below another one."""
    named = {server.config(CoreServerConfig).document_root.rstrip("/") for server in configuration.servers()}
    found: list[str] = []
    for root in sorted(filter(None, named)):
        if not any(f"{root}/".startswith(f"{one}/") for one in found):
            found.append(root)
    return found


def _htaccess_files(roots: list[str]) -> Iterator[str]:
    """Yield the .htaccess files below *roots*; no symbolic link is followed."""
    count = 0
    for root in roots:
        for directory, inner, names in os.walk(to_bytes(root)):
            inner.sort()
            count += 1
            if count > MAX_DIRECTORIES:
                return
            if NAME.encode() in names:
                yield f"{to_text(directory).rstrip('/')}/{NAME}"


def _copies(path: str, top: str, roots: list[str]) -> Iterator[str]:
    """Yield the file below the server root *top* that is a copy of *path* with another text."""
    top = top.rstrip("/")
    root = next(root for root in roots if path.startswith(f"{root}/"))
    if f"{path}/".startswith(f"{top}/"):
        return
    # below an old server root the copy has the relative path, elsewhere the absolute one
    parts = root.split("/")
    for start in range(len(parts)):
        copy = f"{top}/{'/'.join([*parts[max(start, 1) :], path.removeprefix(f'{root}/')])}"
        if os.path.isfile(to_bytes(copy)):
            if _text(copy) != _text(path):
                yield copy
            return


def _text(path: str) -> bytes:
    try:
        return read_regular(to_bytes(path))
    except OSError:
        return b""


def _refused(configuration: Configuration, files: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield the files that 2.4 refuses whatever AllowOverride admits: path, line and message."""
    override = Override(ALL, OPT_ALL | OPT_MULTI | OPT_SYM_OWNER)
    for path in files:
        problem = parse(configuration, configuration.main, path, _text(path), override).problem
        if problem is not None and problem.place is not None:
            yield path, problem.place.line, problem.reason


def _files_read(configuration: Configuration) -> frozenset[str]:
    """Return the .htaccess files that AllowOverride lets the server read."""
    from whimbrel.upgrade.model import UpgradeOptions
    from whimbrel.upgrade.source.config_tree import Role
    from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
    from whimbrel.upgrade.source.reading import read_config_tree
    from whimbrel.utilities.usage_error import UsageError

    options = configuration.options
    named = ConfigArguments(
        paths=[],
        root=Path(to_system(configuration.root)),
        file=Path(to_system(options.file)),
        before=[to_system(line) for line in options.before],
        after=[to_system(line) for line in options.after],
        defines=[to_system(name) for name in options.defines],
    )
    try:
        tree = read_config_tree(sources(named)[0], UpgradeOptions())
    except UsageError:
        return frozenset()
    return frozenset(from_system(path) for path, file in tree.files.items() if file.role is Role.HTACCESS)
