"""Texts that an upgrade wrote, as its journal shows: they are for 2.4, whatever 2.2 does with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from whimbrel.base.latin1 import to_text
from whimbrel.base.real_paths import real_path
from whimbrel.upgrade.apply.journal import Journal, WriteError
from whimbrel.upgrade.apply.state_directory import NoStateDirectory, StateDirectory
from whimbrel.upgrade.apply.transaction import is_upgraded
from whimbrel.upgrade.apply.written_edits import WrittenEdit, WrittenLine
from whimbrel.upgrade.source.section_ranges import stripped_lines


def is_written_by_upgrade(path: str, root: str) -> bool:
    """Return True if the file at *path* is what an upgrade made of it, also with later changes.

    The journal is that of *root*, that of the server, which may read documents elsewhere, of the directory of
    the file, or of one above it, which the upgrade was named. *root* is empty for files without a server.
    """
    real = real_path(path)
    for directory in dict.fromkeys((*([real_path(root)] if root else ()), *_above(real))):
        journal = _journal_of(directory)
        if journal is not None and any(
            entry.target == real and is_upgraded(entry, journal) for entry in journal.entries
        ):
            return True
    return False


def edits_at(path: str, data: bytes, number: int, directories: Iterable[str] = ()) -> list[WrittenEdit]:
    """Return the edits that wrote line *number* of the file at *path*, whose present text is *data*.

    Where the file has fewer lines with the text of this line than the upgrade left, it is one that was
    written only if all of them were. Where it has more, it is not known which were added: none is named. The
    journals are those of *directories*, and of the directories above the file.
    """
    lines = stripped_lines(data)
    line = lines[number - 1]
    sought = WrittenLine(to_text(line), lines[: number - 1].count(line), lines.count(line))
    real = real_path(path)
    for directory in dict.fromkeys((*directories, *_above(real))):
        journal = _journal_of(directory)
        own = [edit for edit in journal.written if edit.path == real] if journal is not None else []
        alike = [one for edit in own for one in edit.new if one.text == sought.text]
        is_any = bool(alike) and len({one.which for one in alike}) == alike[0].total
        found = [
            edit
            for edit in own
            if sought in edit.new
            or (is_any and sought.total < alike[0].total and any(one in alike for one in edit.new))
        ]
        if found:
            return found
    return []


def _journal_of(directory: str) -> Journal | None:
    """Return the journal of the tree *directory*; None without one of this user."""
    try:
        return Journal.load(StateDirectory(directory))
    except (NoStateDirectory, WriteError):
        return None


def _above(path: str) -> Iterator[str]:
    """Yield the directories above *path*, the nearest first, without the root."""
    directory = os.path.dirname(path)
    while directory != os.path.dirname(directory):
        yield directory
        directory = os.path.dirname(directory)
