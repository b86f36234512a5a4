"""Replacement of the option DebugLevel=N of two modules of 2.2 by LogLevel."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.syntax.words import quoted
from whimbrel.upgrade.edits.helpers import change_args
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rules.log_levels import add_log_level, replace_with_log_level
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement

OPTION = "debuglevel="


def findings(tree: ConfigTree, rule: str, directive: str, module: str) -> Iterator[Finding]:
    """Yield the lines called *directive* with the option, which 2.4 refuses."""
    for line in tree.named(directive):
        words = line.words()
        remaining = [word for word in words if not word.lower().startswith(OPTION)]
        if len(remaining) < len(words):
            level = max(map(_level, words))
            yield Finding(
                rule,
                line.place,
                f"{line.node.name} has no option DebugLevel in 2.4: 2.4 {line.file.refusal}",
                f"remove the option; LogLevel {module}:traceN replaces it",
                Risk.BREAKS,
                Safety.SAFE,
                _edits(tree, line, remaining, module, level),
            )


def _level(word: str) -> int:
    """Return the number of the option as atoi() reads it, 0 for other text."""
    digits = word[len(OPTION) :] if word.lower().startswith(OPTION) else ""
    length = next((at for at, c in enumerate(digits) if not c.isdecimal()), len(digits))
    return int(digits[:length] or 0)


def _edits(
    tree: ConfigTree, line: Statement, remaining: list[str], module: str, level: int
) -> tuple[FileEdit, ...]:
    if not remaining:
        return replace_with_log_level(tree, line, module, level)
    changed = change_args(tree, line, " ".join(map(quoted, remaining)))
    return (
        changed + add_log_level(tree, line, module, level)
        if level and line.file.role is not Role.HTACCESS
        else changed
    )
