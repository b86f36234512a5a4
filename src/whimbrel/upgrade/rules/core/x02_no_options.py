"""X02: without any Options 2.2 allows nearly everything, 2.4 only FollowSymLinks.

Document: documents/X02-no-options.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import getword
from whimbrel.upgrade.edits.helpers import insert_for_server
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import is_24_config, is_in_main_server, main_statements


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for a server with a directory that no Options without signs covers."""
    if is_24_config(tree) or not main_statements(tree):
        return
    plain = [line for line in tree.named("options") if line.file.role is Role.MAIN and replaces(line.words())]
    if any(map(is_in_main_server, plain)):
        return
    covered = [path for line in plain for path in _directories(line)]
    uncovered = [
        path
        for path in roots(tree)
        if not any(path == directory or path.startswith(directory.rstrip("/") + "/") for directory in covered)
    ]
    place = insert_for_server(tree, ["Options All"]) if uncovered else None
    if place is not None:
        line, edit = place
        yield Finding(
            "X02",
            line.place,
            (
                f"no Options line applies to {uncovered[0]}: 2.2 lists directories and runs programs "
                "there, 2.4 only follows symbolic links"
            ),
            "write Options All, the default of 2.2, or only the options that are needed",
            Risk.CHANGES,
            Safety.SAFE,
            (edit,),
            decision=(
                "which Options are needed: All lists directories and runs programs everywhere, as in 2.2"
            ),
        )


def replaces(words: list[str]) -> bool:
    """Return True if the line sets all options instead of changing inherited ones."""
    return any(word[:1] not in ("+", "-") for word in words)


def roots(tree: ConfigTree) -> list[str]:
    """Return the directories that requests are mapped to; a placeholder stands for a server without
    DocumentRoot."""
    paths = []
    for name, at in (("documentroot", 0), ("alias", 1)):
        for line in tree.named(name):
            words = line.words()
            if len(words) > at:
                paths.append(root_relative(tree.root or "/", words[at]))
    vague = any(tree.named("virtualdocumentroot", "aliasmatch", "userdir"))
    return [*paths, "/"] if vague or not paths else paths


def _directories(line: Statement) -> list[str]:
    """Return the directory to which the line applies for every server: a <Directory> of the main server
    without wildcards."""
    around = [section for section in line.enclosing() if not section.name.startswith("<if")]
    if len(around) == 1 and around[0].name == "<directory":
        path = getword(around[0].args)[0]
        if path[:1] == "/" and not set("*?[") & set(path):
            return [path]
    return []


RULE = Rule("X02", "no-options", "Without Options 2.4 lists no directories", check)
