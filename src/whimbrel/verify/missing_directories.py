"""Directories that a configuration serves and that are not here: probes find empty ones in their place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import LineScope, SideLines

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
            words = scope.words()
            if scope.kind == "directory" and len(words) == 1 and not _WILD & set(words[0]):
                paths[words[0].rstrip("/") + "/"] = None
    missing = [path for path in paths if path.startswith("/") and not os.path.lexists(to_bytes(path))]
    for path in missing:
        for lines in sides:
            lines.side.probing.assume_directory(path)
    outermost = [path for path in missing if not any(path != one and path.startswith(one) for one in missing)]
    return {
        path: UnknownItem(
            UnknownKind.MISSING,
            None,
            f"directory {path} is not here",
            "it was taken as an empty one",
            matters=any(reads_htaccess(lines, path) for lines in sides),
        )
        for path in outermost
    }


def reads_htaccess(lines: SideLines, path: str) -> bool:
    """Return True if the side may read a .htaccess file in *path* or below it."""
    decided = lines.side.dialect.override_default_all
    for _, scope in sorted(_covering(lines, path), key=lambda found: found[0]):
        for line in scope.lines:
            if line.name in ("allowoverride", "allowoverridelist"):
                decided = [word.lower() for word in line.words()] != ["none"]
    return decided or any(
        line.name == "allowoverride" and [word.lower() for word in line.words()] != ["none"]
        for scope in lines.scopes
        if scope.kind == "directorymatch" or (scope.kind == "directory" and _is_below(scope, path))
        for line in scope.lines
    )


def _covering(lines: SideLines, path: str) -> Iterator[tuple[int, LineScope]]:
    """Yield the <Directory> sections that apply to *path*, with the number of their components."""
    parts = _parts(path)
    for scope in lines.scopes:
        words = scope.words() if scope.kind == "directory" else []
        if len(words) == 1:
            own = _parts(words[0])
            if len(own) <= len(parts) and all(map(_matches, own, parts)):
                yield len(own), scope


def _is_below(scope: LineScope, path: str) -> bool:
    """Return True if a section may apply to a directory below *path*."""
    words = scope.words()
    if len(words) != 1:
        return True
    return all(map(_matches, _parts(words[0]), _parts(path))) and len(_parts(words[0])) > len(_parts(path))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _matches(pattern: str, name: str) -> bool:
    return compile_fnmatch(pattern).search(name) is not None if _WILD & set(pattern) else pattern == name
