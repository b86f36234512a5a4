"""Files that were changed after `whimbrel upgrade --write`, and whose text of 2.2 no backup has.

`verify --backups` and `replay --backups` take the backups for the text of 2.2, and what has none as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whimbrel.upgrade.apply.transaction import changed_later, saved
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.texts_before_upgrade import restored_texts


def changed_after_upgrade(directory: str, files: Iterable[str]) -> Iterator[UnknownItem]:
    """Yield an item for each file of the tree *directory* whose text of 2.2 is not known; *files* are those
    that the comparison has read. A text that the journal proves is known. Raises WriteError.
    """
    restored = restored_texts(directory, saved(directory))
    for path, what in changed_later(directory, files):
        if path in restored:
            continue
        yield UnknownItem(
            UnknownKind.ASSUMED,
            None,
            f"{path} {what}: its text of 2.2 is not known",
            "its present text is compared with itself, as if 2.2 had had it",
            "name a copy of the text of 2.2: whimbrel verify OLD NEW, or whimbrel replay --old OLD",
        )
