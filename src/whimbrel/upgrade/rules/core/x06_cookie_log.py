"""X06: CookieLog is gone.  Document: documents/X06-cookie-log.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.syntax.words import getword
from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role

FORMAT = '"%{Cookie}n \\"%r\\" %t"'


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every CookieLog line; CustomLog logs the same lines."""
    for line in tree.named("cookielog"):
        if line.file.role is Role.HTACCESS:
            continue  # an error in both versions
        args = line.node.args[: getword(line.node.args)[1]].strip()
        edits = replace_statement(tree, line, [f"CustomLog {args} {FORMAT}"])
        yield Finding(
            "X06",
            line.place,
            "CookieLog is gone",
            "write CustomLog, which logs the same lines",
            Risk.BREAKS,
            Safety.SAFE,
            edits,
        )


RULE = Rule("X06", "cookie-log", "CookieLog is a CustomLog", check)
