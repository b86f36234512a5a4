"""C39: RewriteLog and RewriteLogLevel are LogLevel rewrite:traceN.

Document: documents/C39-rewrite-log.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import remove_line
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.log_levels import replace_with_log_level
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import server_of


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every line of either name; the last level of a server with a log becomes its LogLevel."""
    logs = {server_of(line) for line in _named(tree, "rewritelog")}
    for line in _named(tree, "rewritelog"):
        yield Finding(
            "C39",
            line.place,
            "RewriteLog is gone: 2.4 does not start with it",
            "remove it; mod_rewrite logs to the error log",
            Risk.BREAKS,
            Safety.SAFE,
            remove_line(tree, line),
        )
    last = {server_of(line): line for line in _named(tree, "rewriteloglevel")}
    for line in _named(tree, "rewriteloglevel"):
        wanted = _level(line) if last[server_of(line)] is line and server_of(line) in logs else 0
        yield Finding(
            "C39",
            line.place,
            "RewriteLogLevel is gone: 2.4 does not start with it",
            ("write LogLevel rewrite:traceN, from trace1 to trace8; mod_rewrite logs to the error log"),
            Risk.BREAKS,
            Safety.SAFE,
            replace_with_log_level(tree, line, "rewrite", wanted),
        )


def _named(tree: ConfigTree, name: str) -> Iterator[Statement]:
    """Yield the lines of that name outside of .htaccess files, where both versions refuse them."""
    return (line for line in tree.named(name) if line.file.role is not Role.HTACCESS)


def _level(line: Statement) -> int:
    word = (line.words() or ["0"])[0]
    return int(word) if word.isdecimal() else 0


RULE = Rule("C39", "rewrite-log", "RewriteLog and RewriteLogLevel are LogLevel rewrite:traceN", check)
