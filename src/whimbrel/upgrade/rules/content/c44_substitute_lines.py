"""C44: mod_substitute refuses lines of a megabyte.  Document: documents/C44-substitute-lines.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import insert_below
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.htaccess import accepts_directive
from whimbrel.upgrade.source.queries import has_same_scope, lines_for_24, scope_of

WANTED = "SubstituteMaxLineLength 1g"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the last Substitute of each place without a limit."""
    last: dict[object, Statement] = {}
    for line in tree.named("substitute"):
        last[_key(line)] = line
    limits = list(lines_for_24(tree, "substitutemaxlinelength"))
    for line in last.values():
        if not any(has_same_scope(line, limit) for limit in limits):
            possible = accepts_directive(tree, line, "fileinfo")
            yield Finding(
                "C44",
                line.place,
                (
                    "2.4 answers 500 (AH01328) when Substitute reads a line of 1048576 bytes or more; 2.2 "
                    "has no limit"
                ),
                f"write {WANTED}, or less where memory is short"
                + (
                    ""
                    if possible
                    else "; the AllowOverride in force does not admit it here: write it in a <Directory>"
                ),
                Risk.CHANGES,
                Safety.SAFE if possible else Safety.MANUAL,
                insert_below(tree, line, [WANTED]) if possible else (),
            )


def _key(line: Statement) -> object:
    scope = scope_of(line)
    return (
        scope if scope is not None else (line.file.role is Role.MAIN, line.file.directory or line.file.role)
    )


RULE = Rule("C44", "substitute-lines", "Substitute takes lines of up to a megabyte", check)
