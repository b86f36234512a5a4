"""The unified diffs of an upgrade."""

from __future__ import annotations

from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import display_path, unified_diff
from whimbrel.upgrade.source.line_map import LineMap


def diffs(result: UpgradeResult, directory: str) -> dict[str, bytes]:
    """Return a unified diff for each changed file, by its path."""
    diff_by_path = {}
    for path, new_bytes in result.files.items():
        old_bytes = result.tree.files[path].document.bytes
        diff_by_path[path] = unified_diff(
            display_path(path, directory), old_bytes, new_bytes, result.line_maps.get(path, LineMap())
        )
    return diff_by_path
