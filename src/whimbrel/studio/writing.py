"""Edits as a diff, and written to disk as `whimbrel upgrade --write` does."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.config.options import LoadOptions
from whimbrel.studio.documents import Refused
from whimbrel.studio.overlay import EditedText
from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.apply.backup_paths import read_by_includes
from whimbrel.upgrade.apply.journal import WriteError
from whimbrel.upgrade.apply.transaction import write
from whimbrel.upgrade.edits.diff import display_path, unified_diff
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.line_map import LineEdits, LineMap
from whimbrel.upgrade.source.reading import Sources, read_config_tree


def diff_of(files: Mapping[str, EditedText], root: str) -> str:
    """Return the unified diff of all edited files, one character per byte."""
    return b"".join(_diff(path, edited, root) for path, edited in sorted(files.items())).decode("latin-1")


def _diff(path: str, edited: EditedText, root: str) -> bytes:
    line_map = LineMap()
    line_map.steps.append(LineEdits(edited.disk, [edit_between(edited.disk, edited.text)]))
    return unified_diff(display_path(path, root), edited.disk, edited.text, line_map)


def edit_between(old: bytes, new: bytes) -> Edit:
    """Return the one edit of whole lines that makes *new* of *old*."""
    before = old.splitlines(keepends=True)
    after = new.splitlines(keepends=True)
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    end = next((at for at in range(most - start) if before[-1 - at] != after[-1 - at]), most - start)
    first = sum(map(len, before[:start]))
    last = len(old) - sum(map(len, before[len(before) - end :]))
    return Edit(first, last, b"".join(after[start : len(after) - end]))


def write_edits(files: Mapping[str, EditedText], sources: Sources) -> list[str]:
    """Write the edited files below the server root, and return the paths of the backups; raises Refused.

    A file that has changed on disk since it was read is not written, and then no other one either.
    """
    options = sources.options
    if not isinstance(options, LoadOptions):
        raise Refused("fragments are not written from here: `whimbrel upgrade --write` does")
    tree = read_config_tree(sources, UpgradeOptions())
    unknown = [path for path in files if path not in tree.files]
    if unknown:
        raise Refused(f"{display_path(unknown[0], options.server_root)} is no file of the configuration", 403)
    try:
        return write(
            {path: edited.text for path, edited in files.items()},
            options.server_root,
            is_read=read_by_includes(tree),
            expected={path: edited.disk for path, edited in files.items()},
            read={path: file.document.bytes for path, file in tree.files.items()},
        )
    except WriteError as problem:
        raise Refused(str(problem), 409) from None
