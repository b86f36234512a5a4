"""The text of 2.2 of an upgraded tree: from the backups, and of files that a person corrected by hand.

An upgrade makes no backup of a file that it leaves alone. Its journal has the digest of that file, and the
lines that it left to a person: a text with these lines and that digest is the text of 2.2.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.upgrade.apply.file_digests import digest, without_comments
from whimbrel.upgrade.apply.journal import Journal, WriteError
from whimbrel.upgrade.apply.left_decisions import LeftDecision
from whimbrel.upgrade.apply.state_directory import NoStateDirectory, StateDirectory
from whimbrel.upgrade.apply.transaction import saved

UNDO: Final = ": nothing was undone"
"""End of the message about a backup that is not the one of the journal: it speaks of `upgrade --undo`."""
HINT: Final = (
    "the journal of this path is that of another upgrade, or the backup was changed, so what 2.2 had is not "
    "proved; nothing was compared and nothing is changed. Name the text of 2.2: whimbrel verify OLD NEW, or "
    "whimbrel replay --old OLD --new NEW"
)
"""What helps where a tree was put back after its upgrade."""
MAX_LINES: Final = 100
"""Lines of a text that is looked for: each pair of them is tried."""


def texts_before_upgrade(directory: str) -> dict[str, bytes]:
    """Return the texts of 2.2 that an upgrade of the tree *directory*, or a person after it, has changed.

    Raises WriteError.
    """
    try:
        texts = saved(directory)
    except WriteError as problem:
        reason, found, _ = str(problem).partition(UNDO)
        if not found:
            raise
        raise WriteError(f"{reason}: {HINT}") from None
    return {**restored_texts(directory, texts), **texts}


def restored_texts(directory: str, backed_up: Container[str]) -> dict[str, bytes]:
    """Return the texts of files that were changed by hand, and whose text of 2.2 the journal proves.

    *backed_up*: paths with a backup.
    """
    try:
        journal = Journal.load(StateDirectory(directory))
    except NoStateDirectory:
        return {}
    left: dict[str, list[LeftDecision]] = {}
    for decision in journal.left:
        if not decision.is_written and decision.about and decision.path not in backed_up:
            left.setdefault(decision.path, []).append(decision)
    found = {}
    for path, decisions in left.items():
        digests = journal.read.get(path)
        text = _restored(path, decisions, digests.lines) if digests is not None else None
        if text is not None:
            found[path] = text
    return found


def _restored(path: str, decisions: list[LeftDecision], wanted: str) -> bytes | None:
    """Return the text of *path* whose lines have the digest *wanted*, with the comments of the present one;
    None if these lines have not changed, or if no such text was found.
    """
    try:
        present = read_regular(to_bytes(path))
    except OSError:
        present = b""
    lines = present.split(b"\n")
    if digest(without_comments(present)) == wanted or len(lines) > MAX_LINES:
        return None
    for candidate in _candidates(lines, decisions):
        text = b"\n".join(candidate)
        if digest(without_comments(text)) == wanted:
            return text
    return None


def _candidates(lines: list[bytes], decisions: list[LeftDecision]) -> Iterator[list[bytes]]:
    """Yield *lines* with the lines of a decision, or of all, in the place of some that stand together; few of
    them first, so that comments stay.
    """
    ordered = sorted(decisions, key=lambda one: one.line)
    every = dict.fromkeys(to_bytes(line) for one in ordered for line in one.about)
    groups = dict.fromkeys((tuple(every), *(tuple(map(to_bytes, one.about)) for one in ordered)))
    for group in groups:
        for length in range(len(lines) + 1):
            for begin in range(len(lines) - length + 1):
                yield [*lines[:begin], *group, *lines[begin + length :]]
