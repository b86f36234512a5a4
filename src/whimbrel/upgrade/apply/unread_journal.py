"""Trees that an upgrade has written, and whose journal is damaged or missing: what the upgrade left to
decide is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whimbrel.base.counts import and_more
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.upgrade.apply.backup_paths import present_backup
from whimbrel.upgrade.apply.file_digests import without_comments
from whimbrel.upgrade.apply.transaction import journal_fault
from whimbrel.upgrade.apply.written_texts import is_written_by_upgrade
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind


def unread_journal(directory: str, files: Iterable[str]) -> Iterator[UnknownItem]:
    """Yield the fact that *files* of a tree were upgraded, and that no journal here can be read: what the
    upgrade has left to decide is not known.
    """
    fault = journal_fault(directory)
    if not fault:
        pairs = ((path, present_backup(path, directory)) for path in files)
        found = [pair for pair in pairs if _is_without_journal(pair, directory)]
        if not found:
            return
        fault = f"{found[0][1]} is of an upgrade{and_more(len(found) - 1)}, whose journal is not here"
    yield UnknownItem(
        UnknownKind.NOT_READ,
        None,
        fault,
        "what the upgrade left to decide is not known",
        "upgrade again as its user on its machine, or compare with the text of 2.2 by whimbrel verify",
    )


def _is_without_journal(pair: tuple[str, str], directory: str) -> bool:
    """Return True if a file has another text than its backup, and no journal of an upgrade has the file:
    neither that of the tree *directory* nor one of a directory above the file.
    """
    path, backup = pair
    if not backup or is_written_by_upgrade(path, directory):
        return False
    try:
        present = read_regular(to_bytes(path))
        before = read_regular(to_bytes(backup))
    except OSError:
        return True
    return without_comments(present) != without_comments(before)
