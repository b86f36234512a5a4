"""An upgraded server, written in place or as a copy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from whimbrel.base.accounts import effective_group, effective_user
from whimbrel.base.file_reading import open_regular, read_handle
from whimbrel.base.file_writing import Owner, Tree
from whimbrel.base.latin1 import from_system, to_bytes, to_system
from whimbrel.base.printable import file_problem
from whimbrel.base.real_paths import RealPaths, real_path, without_links
from whimbrel.upgrade.apply.backup_paths import read_by_includes
from whimbrel.upgrade.apply.image_copy import copy_image, included_directories
from whimbrel.upgrade.apply.journal import WriteError
from whimbrel.upgrade.apply.left_decisions import left_decisions
from whimbrel.upgrade.apply.left_out import has_private_key
from whimbrel.upgrade.apply.transaction import note_left, write
from whimbrel.upgrade.apply.written_edits import written_edits
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.files.named_files import NamedFile, named_files
from whimbrel.upgrade.files.relocation import Relocation, facts_of, links_of, roots_of
from whimbrel.upgrade.source.config_tree import Role
from whimbrel.utilities.usage_error import UsageError


class ServerCopy(NamedTuple):
    """A copy of a server, upgraded.

    Attributes:
        directory: where it is, as it was named.
        facts: sentences about lines that differ from those of an upgrade in place.
        refused: the old .htaccess files beside the documents that 2.4 refuses there, each with its line.
        is_image: documents and their .htaccess files are in it.
    """

    directory: str
    facts: tuple[str, ...]
    refused: tuple[tuple[str, int], ...] = ()
    is_image: bool = False

    def place_of(self, path: str, result: UpgradeResult, directory: str) -> str:
        """Return where the copy of the server of *directory* has the file at *path*."""
        top = result.tree.disk.image if self.is_image else directory
        return f"{self.directory.rstrip('/')}/{display_path(path, top).lstrip('/')}"


def write_in_place(
    result: UpgradeResult,
    directory: str,
    named: Sequence[Path],
    *,
    is_open: bool = False,
    is_confirmed: bool = False,
) -> list[str]:
    """Write the changed files; return the paths of the backups. The directories of *named* were named by the
    user; *is_confirmed*: the user was asked about each change. Raises WriteError.
    """
    files = written_files(result)
    if not files:
        return []
    return write(
        files,
        directory,
        is_read=read_by_includes(result.tree),
        tops=_tops(named),
        is_open=is_open,
        expected={path: result.tree.files[path].document.bytes for path in files},
        read={
            path: file.document.bytes
            for path, file in result.tree.files.items()
            if path not in result.tree.lone_paths | result.tree.generated
        },
        left=left_decisions(result, files, is_confirmed=is_confirmed),
        written=written_edits(result, files),
    )


def written_files(result: UpgradeResult) -> dict[str, bytes]:
    """Return the new texts that are written: all but those of files that a start script writes."""
    generated = result.tree.generated
    return {path: data for path, data in result.files.items() if path not in generated}


def external_files(result: UpgradeResult, directory: str, named: Sequence[Path]) -> list[str]:
    """Return the changed files that `write_in_place` refuses unless it may write everywhere."""
    paths = RealPaths()
    tops = [(top, paths.of(top)) for top in (directory, *_tops(named))]
    return [path for path in written_files(result) if not any(_is_below(path, *top, paths) for top in tops)]


def _is_below(path: str, top: str, real_top: str, paths: RealPaths) -> bool:
    """Return True if *path* is named below a top, and no link leads out of it."""
    prefixes = f"{top.rstrip('/')}/", f"{real_top.rstrip('/')}/"
    return path.startswith(prefixes) and paths.of(path).startswith(prefixes[1])


def _tops(named: Sequence[Path]) -> list[str]:
    """Return the directories that the user named, and those of the files that the user named."""
    return [from_system(os.path.abspath(path if path.is_dir() else path.parent)) for path in named]


def copy_tree(result: UpgradeResult, directory: str, to: Path) -> ServerCopy:
    """Write every file that was read, upgraded, and those that its lines name, to a directory that is new or
    empty; return it. Raises UsageError.

    Files of *directory* keep their relative paths, others are written below their absolute paths. Links that
    stay inside remain links. The copy is a server of its own: see `upgrade.files.relocation`. That of an
    image is an image: see `image_copy`.
    """
    try:
        copied = Tree.create(os.fsencode(to))
        if not copied.is_empty():
            raise UsageError(f"{to} is not empty\nhint: remove it first, or name another directory")
        if result.tree.disk.image:
            copy = _copy_of_image(result, to, copied)
            _note_left(result, result.tree.disk.image, to, result.files, directory)
            return copy
        root = f"{directory.rstrip('/')}/"
        texts = {
            path: result.files.get(path, file.document.bytes)
            for path, file in result.tree.files.items()
            if path not in result.tree.generated
        }
        named = [file for file in named_files(result.tree) if file.path.startswith(root)]
        move = Relocation(
            roots_of(directory, texts.values()),
            from_system(os.path.abspath(to)),
            {*(path for path in texts if path.startswith(root)), *(file.path for file in named)},
            result.tree.variables(),
        )
        for path in list(texts):
            source = result.tree.files[path]
            if source.role is Role.MAIN:
                texts[path] = move.relocated(result.new_document(path))
            _copy(path, directory, to, copied, (source.document.bytes, texts[path]))
        for file in named:
            _copy_named(file, directory, to, copied)
        for name in included_directories(result.tree):
            target = to / to_system(display_path(name, directory))
            if name.startswith(root) and not os.path.lexists(target):
                copied.make_directory(os.fsencode(target))
        _complete(move, directory, to, copied)
        _note_left(result, directory, to, texts, directory)
        name = from_system(str(to))
        return ServerCopy(name, tuple(facts_of(move.named, name)))
    except OSError as problem:
        raise UsageError(file_problem(problem)) from None


def _note_left(result: UpgradeResult, top: str, to: Path, texts: Mapping[str, bytes], directory: str) -> None:
    """Note in the journal of the copy, which has *texts*, what the upgrade leaves to a person, if there can
    be a journal. The copy has the files below *top*; its server is that of *directory*.
    """
    place = from_system(os.path.realpath(to))
    real_top = real_path(top.rstrip("/"))

    def copied(path: str) -> str:
        return place + path[len(real_top) :] if path.startswith(f"{real_top}/") else path

    left = [one._replace(path=copied(one.path)) for one in left_decisions(result, texts)]
    written = [one._replace(path=copied(one.path)) for one in written_edits(result, texts)]
    with suppress(WriteError):
        note_left(place + real_path(directory)[len(real_top) :], left, written)


def _copy_of_image(result: UpgradeResult, to: Path, copied: Tree) -> ServerCopy:
    image = result.tree.disk.image

    def copy(path: str, texts: tuple[bytes, bytes] | None) -> bool:
        return _copy(path, image, to, copied, texts)

    return ServerCopy(from_system(str(to)), tuple(copy_image(result, to, copied, copy)), is_image=True)


def _complete(move: Relocation, directory: str, to: Path, copied: Tree) -> None:
    """Make the directories for what the server of the copy writes, and link those of its modules."""
    for name in sorted(move.written):
        copied.make_directory(os.fsencode(to / to_system(name)))
    for name, modules in links_of(directory, move.linked):
        with copied.place(os.fsencode(to / to_system(name)), create=True, follow=False) as link:
            link.make_link(modules)


def _copy_named(named: NamedFile, directory: str, to: Path, copied: Tree) -> None:
    """Copy a file that a line names, or link to it."""
    if not named.is_linked:
        _copy(named.path, directory, to, copied)
        return
    target = to / to_system(display_path(named.path, directory))
    with copied.place(os.fsencode(target), create=True, follow=False) as link:
        link.make_link(without_links(to_bytes(named.path)))


def _copy(
    path: str, directory: str, to: Path, copied: Tree, texts: tuple[bytes, bytes] | None = None
) -> bool:
    """Copy a file, with its second text in *texts* if its content is the first one; return True if it has a
    private key. The owner alone can read the copy of a key: its group is that of the user who copies.

    Content and mode are those of one open file: whoever may exchange it could have the content of another one
    written with a mode by which all may read it.
    """
    source = to_system(path)
    handle = open_regular(to_bytes(path))
    try:
        owner = Owner.of(os.fstat(handle))._replace(user=effective_user(), group=effective_group())
        data = read_handle(handle, path)
    finally:
        os.close(handle)
    if texts is not None:
        expected, written = texts
        if data != expected:
            raise UsageError(f"{path} has changed while it was read")
        data = written
    is_key = has_private_key(data)
    if is_key:
        owner = owner._replace(mode=owner.mode & 0o700)
    top = os.fsencode(to)
    target = os.path.join(top, to_bytes(display_path(path, directory)).lstrip(b"/"))
    if os.path.islink(source):
        text = os.readlink(source)
        real = real_path(path)
        if not os.path.isabs(text) and real.startswith(directory.rstrip("/") + "/"):
            with copied.place(target, create=True, follow=False) as link:
                link.make_link(os.fsencode(text))
            target = os.path.join(top, to_bytes(display_path(real, directory)).lstrip(b"/"))
    with copied.place(target, create=True, follow=False) as place:
        if place.status() is None:  # the directory is new: nothing reads it before the end
            place.create(data, owner, with_times=True, is_synced=False)
        else:
            place.replace(data, owner)
    return is_key
