"""Equal servers: trees that hold the same, so that one result is that of all.

The digest of a server has, for each name below its directory: the relative name, kind, permissions, owner and
group, the target of a link, the content of a regular file. What else a result depends on is the same for all
servers of one run: options, environment, and files of this machine that texts name by absolute paths.

A server has no digest, and so equals no other, if any of this is uncertain: a part that cannot be read, a
text or link that names the place of its own tree, a text that goes up with ``..``, a server
root or main file that is not inside it, and a tree that is larger than the bounds.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.real_paths import without_links
from whimbrel.config.servers import server_at
from whimbrel.fleet.servers import FleetServer

MAX_NAMES: Final = 20_000
"""Names below the directory of a server that has a digest."""
MAX_BYTES: Final = 64 << 20
"""Bytes of its files."""
Entry = tuple[bytes, os.stat_result]


class _Uncertain(Exception):
    """The tree may differ from others in what its names and contents do not show."""


def equal_servers(
    servers: Sequence[FleetServer], report_progress: Callable[[int], None] = lambda _done: None
) -> dict[int, int]:
    """Return for each server, by its index, that of the first server that it equals, or its own.

    Contents are read only if the names and sizes of two trees are equal.
    """
    shapes: dict[bytes, list[int]] = {}
    first = {number: number for number in range(len(servers))}
    for number, server in enumerate(servers):
        report_progress(number)
        shape = _digest(server, _shape)
        if shape:
            shapes.setdefault(shape, []).append(number)
    for numbers in shapes.values():
        known: dict[bytes, int] = {}
        for number in numbers if len(numbers) > 1 else ():
            digest = _digest(servers[number], _content)
            if digest:
                first[number] = known.setdefault(digest, number)
    return first


def _digest(server: FleetServer, add: Callable[[list[bytes], bytes], Iterator[bytes]]) -> bytes:
    """Return the digest of what *add* yields for the trees of *server*; b"" if it is uncertain."""
    if server.fault:
        return b""
    trees = [os.fsencode(path) for path in (server.path, server.new) if path]
    own = sorted({place for tree in trees for place in (tree, without_links(tree))})
    digest = hashlib.sha256()
    try:
        for tree in trees:
            _require_inside(tree)
            for part in add(own, tree):
                digest.update(b"%d:" % len(part))
                digest.update(part)
            digest.update(b"end")
    except (OSError, _Uncertain):
        return b""
    return digest.digest()


def _require_inside(tree: bytes) -> None:
    """Raise _Uncertain unless the server of *tree* lies inside it."""
    path = os.fsdecode(tree)
    server = server_at(path) or server_at(path, as_server=True) if os.path.isdir(path) else None
    if server is None or not all(_is_inside(place, path) for place in (server.root, server.path)):
        raise _Uncertain


def _is_inside(path: str, tree: str) -> bool:
    return f"{without_links(path)}/".startswith(f"{without_links(tree)}/")


def _entries(tree: bytes) -> list[Entry]:
    """Return the names below *tree* with their status, in order; links are not followed."""
    found: list[Entry] = []
    pending = [b""]
    size = 0
    while pending:
        directory = pending.pop()
        for entry in os.scandir(os.path.join(tree, directory)):
            name = os.path.join(directory, entry.name)
            status = entry.stat(follow_symlinks=False)
            found.append((name, status))
            if stat.S_ISDIR(status.st_mode):
                pending.append(name)
            elif stat.S_ISREG(status.st_mode):
                size += status.st_size
        if len(found) > MAX_NAMES or size > MAX_BYTES:
            raise _Uncertain
    return sorted(found)


def _shape(_own: Iterable[bytes], tree: bytes) -> Iterator[bytes]:
    """Yield the names with their status."""
    for name, status in _entries(tree):
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        yield name
        yield b"%o %d %d %d" % (status.st_mode, status.st_uid, status.st_gid, size)


def _content(own: list[bytes], tree: bytes) -> Iterator[bytes]:
    """Yield the names with their status and content."""
    yield from _shape(own, tree)
    for name, status in _entries(tree):
        path = os.path.join(tree, name)
        if stat.S_ISLNK(status.st_mode):
            yield _link_target(path, own)
        elif stat.S_ISREG(status.st_mode):
            data = read_regular(path)
            if any(place in data for place in (b"../", b"/..", *own)):
                raise _Uncertain
            yield data


def _link_target(path: bytes, own: list[bytes]) -> bytes:
    """Return the text of a relative link that stays in the tree, the absolute target of any other."""
    text = os.readlink(path)
    target = os.path.normpath(os.path.join(os.path.dirname(path), text))
    is_inside = any(target.startswith(place + b"/") for place in own)
    if is_inside and text.startswith(b"/"):
        raise _Uncertain
    return text if is_inside else target
