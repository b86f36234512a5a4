"""C47: programs behind a pipe are started without a shell.  Document: documents/C47-piped-logs.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.syntax import spans
from whimbrel.syntax.edits import Edit
from whimbrel.syntax.words import getword
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

LOGS: Final = ("errorlog", "customlog", "transferlog", "forensiclog", "globallog")
PLAIN: Final = re.compile(r"[ \t]*/[\w./%+:,@=-]+(?:[ \t]+[\w./%+:,@=-]+)*[ \t]*")
"""A command that a shell and httpd split alike: a path and arguments without special characters of
a shell."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every pipe whose command needs a shell."""
    for line in tree.named(*LOGS):
        target = getword(line.args)[0]
        if target[:1] != "|" or target[1:2] in ("|", "$") or PLAIN.fullmatch(target[1:]):
            continue
        at = line.node.args.find("|") + 1
        start, _ = spans.args_range(line.file.document, line.node, at, len(line.node.args))
        edits = (FileEdit(line.file.path, Edit(start, start, b"$")),) if at else ()
        yield Finding(
            "C47",
            line.place,
            f"2.2 ran `{target[1:].strip()}` in a shell, 2.4 starts programs directly",
            "write |$ to use a shell",
            Risk.CHANGES,
            Safety.SAFE if edits else Safety.MANUAL,
            edits,
        )


RULE = Rule("C47", "piped-logs", "Piped logs run without a shell", check)
