"""Equal servers: trees that hold the same, so that one result is that of all.

The digest of a server has its parent directory and, for its directory and each name below: the relative name,
kind, permissions, owner and group, the target of a link, the content of a regular file. What else a result
depends on is the same for all servers of one run: options, environment, and files of this machine that texts
name by absolute paths.

A server has no digest, and so equals no other, if any of this is uncertain: a part that cannot be read, a
text that may see the place of its own tree (`_require_placeless`), a file or link that leads out of it, a
server root or main file that is not inside it, a tree that is larger than the bounds. The two sides of
`verify` have different places and times of files, so a pair equals no other.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.real_paths import without_links
from whimbrel.config.servers import FoundServer, server_at
from whimbrel.fleet.servers import FleetServer

MAX_NAMES: Final = 20_000
"""Names below the directory of a server that has a digest."""
MAX_BYTES: Final = 64 << 20
"""Bytes of its files."""
Entry = tuple[bytes, os.stat_result]
_CONTINUED: Final = re.compile(rb"\\\r?\n")
_COMMENT: Final = re.compile(rb"(?m)^[ \t]*#.*$")
_TESTED: Final = re.compile(
    rb"""(?<=[ \t"'])%\{(?:DOCUMENT_ROOT|REQUEST_FILENAME|SCRIPT_FILENAME)\}"""
    rb"""[^ \t"'\n]*["']?[ \t]+["']?!?-[dfsl]\b"""
)
"""Tests whether a file exists: the same in equal trees."""
_FOR_PEOPLE: Final = re.compile(rb"(?im)^[ \t]*(?:authname\b|errordocument[ \t]++\d++[ \t]++\")[^\n]*")
_SEEING: Final = re.compile(
    rb"(?im)(?<![\w.])\.\.(?![\w.])|document_root|(?:script|request)_filename|script_path|path_translated|\bpwd\b"
    rb"|^[ \t]*<(?:macro\b|directorymatch\b|directory[ \t][^\n]*[~$])"
)
"""What goes up from a place, shows it, builds names of directories, or matches them with a regex."""
_SECTION: Final = re.compile(rb"""(?im)^[ \t]*<directory[ \t]++["']?([^*?\[\n]*/)[^/\n]*[*?\[]""")
"""A section for the directories that a wildcard matches; its group is what precedes that."""
_INCLUDE: Final = re.compile(rb"""(?im)^[ \t]*include(?:optional)?[ \t]++["']?([^"'\n]*)""")
_RELATIVE: Final = re.compile(rb"[\w.*?\[][^$]*")


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


def _digest(server: FleetServer, add: Callable[[FoundServer, bytes], Iterator[bytes]]) -> bytes:
    """Return the digest of what *add* yields for the tree of *server*; b"" if it is uncertain."""
    if server.fault or server.new:
        return b""
    tree = os.fsencode(server.path)
    digest = hashlib.sha256()
    try:
        for part in add(_server_inside(server.path), tree):
            digest.update(b"%d:" % len(part))
            digest.update(part)
    except (OSError, _Uncertain):
        return b""
    return digest.digest()


def _server_inside(path: str) -> FoundServer:
    """Return the server of the tree at *path*; raises _Uncertain if it is not inside, or *path* a link."""
    is_tree = os.path.isdir(path) and not os.path.islink(path)
    server = server_at(path) or server_at(path, as_server=True) if is_tree else None
    if server is None or not all(_is_inside(place, path) for place in (server.root, server.path)):
        raise _Uncertain
    return server


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


def _shape(_server: FoundServer, tree: bytes) -> Iterator[bytes]:
    """Yield the parent directory, and the names with their status."""
    yield os.path.dirname(tree)
    for name, status in [(b"", os.lstat(tree)), *_entries(tree)]:
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        yield name
        yield b"%o %d %d %d" % (status.st_mode, status.st_uid, status.st_gid, size)


def _content(server: FoundServer, tree: bytes) -> Iterator[bytes]:
    """Yield the names with their status and content."""
    yield from _shape(server, tree)
    for name, status in _entries(tree):
        path = os.path.join(tree, name)
        if stat.S_ISLNK(status.st_mode):
            yield _link_target(path, tree)
        elif stat.S_ISREG(status.st_mode):
            data = read_regular(path)
            _require_placeless(data, server, tree)
            yield data


def _require_placeless(data: bytes, server: FoundServer, tree: bytes) -> None:
    """Raise _Uncertain if the text *data* may mean something else at another place than *tree*.

    Places of equal trees have one parent and differ in the last name alone. To tell one from the other,
    a text must have that name, a pattern that may match it, or a variable with it, or read a file outside
    that does. The texts of ErrorDocument and AuthName are for people.
    """
    data = _FOR_PEOPLE.sub(b"", data)
    text = _TESTED.sub(b"", _COMMENT.sub(b"", _CONTINUED.sub(b"", data)))
    own = rb"(?<![\w.-])%s(?![\w.-])" % re.escape(os.path.basename(tree))
    places = (tree, without_links(tree))
    if (
        _SEEING.search(text)
        or re.search(own, text)
        or any(place.startswith(_normal(found[1])) for found in _SECTION.finditer(text) for place in places)
        or not all(_stays_inside(found[1], server) for found in _INCLUDE.finditer(text))
    ):
        raise _Uncertain


def _normal(directory: bytes) -> bytes:
    """Return *directory*, which ends in a slash, without empty names."""
    return re.sub(rb"/(?:\.?/)+", b"/", directory)


def _stays_inside(path: bytes, server: FoundServer) -> bool:
    """Return True if the *path* of an Include is one of the tree: relative, or in a copied directory."""
    copied = tuple(os.fsencode(f"{original.rstrip('/')}/") for original, _place in server.copied)
    return b"$" not in path and (path.startswith(copied) or _RELATIVE.match(path) is not None)


def _link_target(path: bytes, tree: bytes) -> bytes:
    """Return the text of a link; raises _Uncertain if it is absolute, or leads out of *tree* to something."""
    text = os.readlink(path)
    target = os.path.normpath(os.path.join(os.path.dirname(path), text))
    if target.startswith(tree + b"/"):
        if text.startswith(b"/"):
            raise _Uncertain
        return text
    if os.path.lexists(target):
        raise _Uncertain
    return target
