"""X03: an Include whose wildcards match nothing is an error.

Document: documents/X03-include-without-match.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.config.execute import root_relative
from whimbrel.config.includes import has_wildcards
from whimbrel.syntax.words import getword
from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every Include whose wildcards match no file of an existing directory."""
    not_followed = {item.place for item in tree.unread if item.kind is UnknownKind.LEFT_OUT}
    for line in tree.named("include"):
        pattern = getword(line.args)[0]
        path = root_relative(tree.text_root, pattern) if tree.text_root else ""
        directory = path.rpartition("/")[0]
        if (
            line.included
            or line.place in not_followed
            or not path
            or not has_wildcards(path)
            or has_wildcards(directory)
            or not tree.disk.is_directory(directory)
        ):
            continue
        source = line.file.document.bytes[line.node.start : line.node.end].decode("latin-1").strip()
        edits = (
            replace_statement(tree, line, ["IncludeOptional" + source[len(line.node.name) :]])
            if tree.options.also_22
            else (line.rename("IncludeOptional"),)
        )
        yield Finding(
            "X03",
            line.place,
            f"no file matches {pattern}: 2.4 does not start",
            "write IncludeOptional, which accepts that",
            Risk.BREAKS,
            Safety.SAFE,
            edits,
        )


RULE = Rule("X03", "include-without-match", "An Include that matches nothing is an error", check)
