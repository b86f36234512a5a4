"""Line of `whimbrel upgrade` with the command that shows what changes in one file of a server."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.cli.next_commands import command_line
from whimbrel.cli.options import CARRIED, given_words

if TYPE_CHECKING:
    import typer

    from whimbrel.upgrade.check.fixpoint import UpgradeResult
    from whimbrel.upgrade.source.reading import Sources

MANY_FILES: Final = 4
"""Changed files from which on the command is named."""
EXPLAINED: Final = frozenset(("conf", "root", "file", "before", "after", "defines", "envvars", "builtin"))
"""The parameters that `explain` has too."""
_NO_MATTER: Final = frozenset(("is_open", "verify"))
"""Parameters that change nothing of the new text."""


def about_one_file(
    context: typer.Context, result: UpgradeResult, what: Sources, directory: str, how: Set[str]
) -> list[str]:
    """Return the command for the changes of one file of a server of which several change, with their reasons;
    with options that `explain` does not have, the command for the diff of the file.

    *how*: the parameters that say how the text is written.
    """
    from whimbrel.upgrade.edits.diff import display_path

    if what.options is None or len(result.files) < MANY_FILES:
        return []
    main = os.path.join(what.options.server_root, what.options.file)
    paths = [path for path in result.files if path != main and path not in result.tree.lone_paths]
    if not paths:
        return []
    access, edits = _edit_counts(result)
    questioned = {one.place.path for one in result.findings if one.needs_review or one.decision}
    path = max(paths, key=lambda one: (one in questioned, access[one], edits[one]))
    if (
        given_words(context, (CARRIED | how) - EXPLAINED - _NO_MATTER)
        or len(context.params["conf"] or ()) > 1
    ):
        words = given_words(context, CARRIED | how)
        relative = os.path.relpath(to_bytes(path), os.getcwdb())
        name = min(path, to_text(relative), key=len)
        return [f"The diff of one file alone: {command_line('upgrade', *words, name)}"]
    named = command_line("explain", display_path(path, directory), *given_words(context, EXPLAINED))
    return [f"What changes in one file, and why: {named}"]


def explaining(context: typer.Context) -> Callable[[str], str] | None:
    """Return the function that makes the command that explains a place of what the command line names; None
    where it names several files.
    """
    if len(context.params.get("conf") or ()) > 1:
        return None
    words = given_words(context, EXPLAINED)
    return lambda place: command_line("explain", place, *words)


def _edit_counts(result: UpgradeResult) -> tuple[Counter[str], Counter[str]]:
    """Return how many findings of rules about access control change each file, and how many of all rules."""
    from whimbrel.upgrade.model import ACCESS_RULES

    edits = [one for one in result.findings if one.edits]
    access = Counter(one.place.path for one in edits if one.rule in ACCESS_RULES)
    return access, Counter(one.place.path for one in edits)
