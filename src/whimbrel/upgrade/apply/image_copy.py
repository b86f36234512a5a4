"""An upgraded image of a machine: a copy of ``/`` with the files that its server reads.

Texts stay as they are, since their paths are those of the machine. Documents are copied up to a bound.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.file_writing import Tree
from whimbrel.base.latin1 import from_system, to_bytes, to_system, to_text
from whimbrel.catalogue.written_files import WRITTEN, written_directory, written_path
from whimbrel.config.execute import root_relative
from whimbrel.config.includes import has_wildcards
from whimbrel.upgrade.apply.left_out import LeftOut
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.files.named_files import named_files
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.served_roots import served_roots

MAX_FILES: Final = 20_000
"""Files of one directory of documents that are copied."""
MAX_BYTES: Final = 256 << 20
"""Bytes of the documents that are copied."""
_ACCOUNTS: Final = "/etc/passwd"

Copying = Callable[[str, tuple[bytes, bytes] | None], bool]
"""Copies the file at a place; of two texts the second one is written, if its content is the first one.
Returns True for a file with a private key, whose copy the owner alone can read.
"""


def copy_image(result: UpgradeResult, to: Path, copied: Tree, copy: Copying) -> list[str]:
    """Write the image of *result* to *to*, file by file with *copy*; return sentences about it. Raises
    OSError.
    """
    tree = result.tree
    named = named_files(tree)
    left = LeftOut.of(tree, [file.path for file in named if file.is_linked])
    writer = _ImageWriter(result, to, copied, copy, left)
    for path in (path for path in tree.files if path not in tree.generated):
        writer.write(path)
    for path in (*(file.path for file in named if not file.is_linked), *_accounts(tree), *tree.service_files):
        writer.write(path)
    for pattern in tree.include_patterns:
        writer.note_links_in(os.path.dirname(pattern) if has_wildcards(pattern) else pattern)
    for directory in sorted({*_written(tree), *included_directories(tree)}):
        writer.make_directory(directory)
    writer.write_documents(_documents(tree))
    writer.finish()
    return list(_facts(from_system(str(to)), tree.disk.image, left.secrets, writer))


def included_directories(tree: ConfigTree) -> Iterator[str]:
    """Yield the directories that Include lines read: httpd ends its start where one is missing, not where it
    is empty.
    """
    for pattern in tree.include_patterns:
        directory = os.path.dirname(pattern) if has_wildcards(pattern) else pattern.rstrip("/")
        if not has_wildcards(directory) and tree.disk.is_directory(directory):
            yield directory


class _ImageWriter:
    """Writes files, directories and links of an image to the same places of another one.

    Files are written where no link leads to them, and the links last.

    Attributes:
        missing: the directories of documents that have too much.
        keys: the copied documents that contain a private key.
    """

    def __init__(
        self, result: UpgradeResult, to: Path, copied: Tree, copy: Copying, left_out: LeftOut
    ) -> None:
        self.missing: list[str] = []
        self.keys: list[str] = []
        self._left_out = left_out
        self._result = result
        self._disk = result.tree.disk
        self._to = to
        self._copied = copied
        self._copy = copy
        self._written = set[str]()
        self._links: dict[str, None] = {}
        self._directories: dict[str, None] = {}

    def write(self, path: str) -> None:
        """Write the file that *path* leads to, upgraded, and note the links on the way."""
        self._note_links(path)
        place = self._disk.on_disk(path)
        if place not in self._written:
            self._written.add(place)
            file = self._result.tree.files.get(path)
            text = self._result.files.get(path, file.document.bytes if file is not None else None)
            texts = None if file is None or text is None else (file.document.bytes, text)
            if self._copy(place, texts):
                self.keys.append(place)

    def make_directory(self, path: str) -> None:
        """Make the directory that *path* leads to."""
        self._note_links(path)
        place = self._disk.on_disk(path).rstrip("/")
        self._directories[place] = None
        self._copied.make_directory(os.fsencode(self._target(place)))

    def write_documents(self, tops: Mapping[str, tuple[str, ...]]) -> None:
        """Write what is below the directories *tops*, and what links there lead to; of a directory whose
        value is not empty, the names alone that begin with a word of it.
        """
        waiting = list(tops)
        done: list[str] = []
        while waiting:
            path = waiting.pop()
            self._note_links(path)
            place = self._disk.on_disk(path).rstrip("/")
            if f"{place}/".startswith(tuple(done)) or not place.startswith(f"{self._disk.image}/"):
                continue
            starts = tops.get(path, ())
            if not starts:
                done.append(f"{place}/")
            entries = _entries(place, starts, self._left_out.has)
            if entries is None:
                self.missing.append(place)
                continue
            self.make_directory(place)
            for entry, mode in entries:
                if stat.S_ISDIR(mode):
                    self.make_directory(entry)
                elif stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and self._disk.is_file(entry)):
                    if not self._left_out.has(self._disk.on_disk(entry)):
                        self.write(entry)
                elif stat.S_ISLNK(mode):
                    self._links[entry] = None
                    waiting += [entry] if self._disk.is_directory(entry) else []

    def note_links_in(self, directory: str) -> None:
        """Note the symbolic links in *directory*: they decide which files an Include reads."""
        for name in self._disk.names_in(directory):
            place = self._disk.on_disk(f"{directory.rstrip('/')}/{name}", follow=False)
            if os.path.islink(to_bytes(place)):
                self._links[place] = None

    def finish(self) -> None:
        """Make the links, and set the times of directories, of which ETags are made."""
        image = to_bytes(self._disk.image)
        for place in self._links:
            text = os.readlink(to_bytes(place))
            if text.startswith(image + b"/"):  # made for the copy that is read, not for this one
                text = text[len(image) :]
            target = os.fsencode(self._target(place))
            with self._copied.place(target, create=True, replaces_link=True) as link:
                if link.status() is None:
                    link.make_link(text)
        for place in self._directories:
            status = os.stat(to_bytes(place))
            os.utime(self._target(place), ns=(status.st_atime_ns, status.st_mtime_ns))

    def _note_links(self, path: str) -> None:
        """Note the links among *path* and the directories above it."""
        text = self._disk.text_of(path)
        for end in [at for at, char in enumerate(text) if char == "/" and at] + [len(text)]:
            place = self._disk.on_disk(text[:end], follow=False)
            if os.path.islink(to_bytes(place)):
                self._links[place] = None

    def _target(self, place: str) -> Path:
        """Return where the file at *place* of the image is in the copy."""
        return self._to / to_system(place.removeprefix(self._disk.image)).lstrip("/")


def _facts(name: str, image: str, secrets: Sequence[str], writer: _ImageWriter) -> Iterator[str]:
    left = ["modules", "logs"]
    if secrets:
        left.append(f"keys and certificates ({count_noun(len(secrets), 'file')}, such as {secrets[0]})")
    yield (
        f"{name} is an image of the machine, as {image} is: its paths are those of the text; "
        f"not copied: {', '.join(left)}"
    )
    if writer.keys:
        yield (
            f"copied with a mode for the owner alone: {count_noun(len(writer.keys), 'document')} "
            f"with a private key, such as {writer.keys[0]}"
        )
    for place in writer.missing:
        yield (
            f"not copied: the documents of {place}, more than {MAX_FILES} files or {MAX_BYTES >> 20} MB: "
            f"cp -an {place}/. {name}{place.removeprefix(image)}/"
        )


def _accounts(tree: ConfigTree) -> list[str]:
    """Return the file of users that UserDir reads, if there is one."""
    return [_ACCOUNTS] if any(tree.named("userdir")) and tree.disk.is_file(_ACCOUNTS) else []


def _written(tree: ConfigTree) -> Iterator[str]:
    """Yield the directories of the text that exist for what the server writes."""
    for line in tree.all_statements():
        words = line.words() if line.name in WRITTEN else []
        path = written_path(line.name, words[0]) if words else ""
        if path and not path.startswith(("|", "$", "syslog")):
            directory = written_directory(line.name, root_relative(tree.text_root, path))
            if tree.disk.is_directory(directory):
                yield directory


def _documents(tree: ConfigTree) -> dict[str, tuple[str, ...]]:
    """Return the directories of the text that URLs are mapped to or sections name, with the beginnings of the
    names in them that can be served, if not all can.
    """
    default = f"{tree.text_root.rstrip('/')}/htdocs"
    roots = served_roots(tree, default, tree.disk.place)
    return {path: roots[path].starts for path in reversed(roots) if tree.disk.is_directory(path)}


def _entries(
    top: str, starts: tuple[str, ...], is_left_out: Callable[[str], bool]
) -> list[tuple[str, int]] | None:
    """Return what is below a directory, with modes, those above first; None for too much. In *top* itself
    names count that begin with one of *starts*, if there are any.
    """
    found: list[tuple[str, int]] = []
    size = 0
    first = to_bytes(top)
    for raw, below, names in os.walk(first):
        below.sort()
        if starts and raw == first:
            below[:] = [name for name in below if to_text(name).startswith(starts)]
            names = [name for name in names if to_text(name).startswith(starts)]
        below[:] = [name for name in below if not is_left_out(to_text(os.path.join(raw, name)))]
        for name in (*below, *sorted(names)):
            path = os.path.join(raw, name)
            if is_left_out(to_text(path)):
                continue
            try:
                status = os.lstat(path)
            except OSError:
                continue
            found.append((to_text(path), status.st_mode))
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if len(found) > MAX_FILES or size > MAX_BYTES:
            return None
    return found
