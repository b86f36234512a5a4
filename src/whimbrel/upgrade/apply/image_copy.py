"""An upgraded image of a machine: a copy of ``/`` with the files that its server reads.

Texts stay as they are, since their paths are those of the machine. Documents are copied up to a bound.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.file_writing import Tree
from whimbrel.base.latin1 import from_system, to_bytes, to_system, to_text
from whimbrel.catalogue.written_files import WRITTEN, WrittenKind, written_path
from whimbrel.config.execute import root_relative
from whimbrel.config.includes import has_wildcards
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.files.named_files import named_files
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.served_roots import served_roots

MAX_FILES: Final = 20_000
"""Files of one directory of documents that are copied."""
MAX_BYTES: Final = 256 << 20
"""Bytes of the documents that are copied."""
_ACCOUNTS: Final = "/etc/passwd"
_DIRECTORIES: Final = (WrittenKind.DIRECTORY, WrittenKind.MECHANISM_DIRECTORY)

Copying = Callable[[str, bytes | None], None]
"""Copies the file at a place; with a text, that takes the place of its content."""


def copy_image(result: UpgradeResult, to: Path, copied: Tree, copy: Copying) -> list[str]:
    """Write the image of *result* to *to*, file by file with *copy*; return sentences about it. Raises
    OSError.
    """
    tree = result.tree
    image = tree.disk.image
    done = set[str]()

    def write(path: str) -> None:
        if path not in done:
            done.add(path)
            copy(path, result.files.get(path))

    for path in tree.files:
        write(path)
    named = named_files(tree)
    secrets = [file.path for file in named if file.is_linked]
    for path in [file.path for file in named if not file.is_linked] + _accounts(tree):
        write(path)
    for link in _links(tree):
        _copy_link(link, image, to, copied)
    for directory in sorted(_written(tree)):
        copied.make_directory(os.fsencode(_target(tree.disk.place(directory), image, to)))
    missing = []
    for top in _documents(tree):
        if os.path.islink(to_bytes(tree.disk.place(top.rstrip("/")))):
            _copy_link(tree.disk.place(top.rstrip("/")), image, to, copied)
        place = tree.disk.on_disk(top).rstrip("/")
        entries = _entries(place)
        if entries is None:
            missing.append(place)
            continue
        copied.make_directory(os.fsencode(_target(place, image, to)))
        for path, mode in entries:
            if stat.S_ISDIR(mode):
                copied.make_directory(os.fsencode(_target(path, image, to)))
            elif stat.S_ISLNK(mode):
                _copy_link(path, image, to, copied)
            elif stat.S_ISREG(mode):
                write(path)
    name = from_system(str(to))
    return list(_facts(name, image, secrets, missing))


def _facts(name: str, image: str, secrets: list[str], missing: list[str]) -> Iterator[str]:
    left = ["modules", "logs"]
    if secrets:
        left.append(f"keys and certificates ({count_noun(len(secrets), 'file')}, such as {secrets[0]})")
    yield (
        f"{name} is an image of the machine, as {image} is: its paths are those of the text; "
        f"not copied: {', '.join(left)}"
    )
    for place in missing:
        yield (
            f"not copied: the documents of {place}, more than {MAX_FILES} files or {MAX_BYTES >> 20} MB: "
            f"cp -an {place}/. {name}{place.removeprefix(image)}/"
        )


def _target(place: str, image: str, to: Path) -> Path:
    """Return where the file at *place* of the image is in the copy."""
    return to / to_system(place.removeprefix(image)).lstrip("/")


def _copy_link(path: str, image: str, to: Path, copied: Tree) -> None:
    text = os.readlink(to_bytes(path))
    inside = to_bytes(image)
    if text.startswith(inside + b"/"):  # made for the copy that is read, not for this one
        text = text[len(inside) :]
    with copied.place(os.fsencode(_target(path, image, to)), create=True, replaces_link=True) as link:
        if link.status() is None:
            link.make_link(text)


def _accounts(tree: ConfigTree) -> list[str]:
    """Return the file of users that UserDir reads, if there is one."""
    is_read = any(tree.named("userdir")) and tree.disk.is_file(_ACCOUNTS)
    return [tree.disk.on_disk(_ACCOUNTS)] if is_read else []


def _links(tree: ConfigTree) -> Iterator[str]:
    """Yield the symbolic links that Include lines find: they decide which files are read."""
    for pattern in tree.include_patterns:
        directory = os.path.dirname(pattern) if has_wildcards(pattern) else pattern
        if has_wildcards(directory):
            continue
        if os.path.islink(to_bytes(pattern)):
            yield pattern
        for name in tree.disk.names_in(directory):
            path = f"{directory.rstrip('/')}/{name}"
            if os.path.islink(to_bytes(path)):
                yield path


def _written(tree: ConfigTree) -> Iterator[str]:
    """Yield the directories of the text that exist for what the server writes."""
    for line in tree.all_statements():
        words = line.words() if line.name in WRITTEN else []
        path = written_path(line.name, words[0]) if words else ""
        if path and not path.startswith(("|", "$", "syslog")):
            full = root_relative(tree.text_root, path)
            directory = full if WRITTEN[line.name] in _DIRECTORIES else os.path.dirname(full)
            if tree.disk.is_directory(directory):
                yield directory


def _documents(tree: ConfigTree) -> list[str]:
    """Return the directories of the text that URLs are mapped to or sections name, none inside another."""
    found: list[str] = []
    default = f"{tree.text_root.rstrip('/')}/htdocs"
    for path in served_roots(tree, default, tree.disk.place):
        top = path.rstrip("/")
        if tree.disk.is_directory(path) and not f"{top}/".startswith(tuple(found)):
            found.append(f"{top}/")
    return found


def _entries(top: str) -> list[tuple[str, int]] | None:
    """Return what is below a directory, with modes, those above first; None for too much."""
    found: list[tuple[str, int]] = []
    size = 0
    for raw, below, names in os.walk(to_bytes(top)):
        below.sort()
        for name in (*below, *sorted(names)):
            path = os.path.join(raw, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            found.append((to_text(path), status.st_mode))
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if len(found) > MAX_FILES or size > MAX_BYTES:
            return None
    return found
