"""C31: DumpIOLogLevel is gone, mod_dumpio logs at trace7.  Document: documents/C31-dump-io-log-level.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import remove_line
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.log_levels import add_log_level, replace_with_log_level
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import lines_for_24, server_of

TRACE: Final = 7
LEVELS: Final = ("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug")


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every DumpIOLogLevel, and dumps that 2.2 logs and 2.4 would not."""
    for line in tree.named("dumpiologlevel"):
        seen = _is_logged_22(tree, line, (line.words() or ["debug"])[0])
        yield Finding(
            "C31",
            line.place,
            "DumpIOLogLevel is gone: 2.4 does not start with it",
            "remove it; LogLevel dumpio:trace7 logs the data",
            Risk.BREAKS,
            Safety.SAFE,
            replace_with_log_level(tree, line, "dumpio", TRACE) if seen else remove_line(tree, line),
        )
    if not tree.has("dumpiologlevel"):
        yield from _findings_by_default(tree)


def _findings_by_default(tree: ConfigTree) -> Iterator[Finding]:
    """Yield dumps at debug, the default level of 2.2."""
    for line in _enabled(tree):
        if _is_logged_22(tree, line, "debug") and not _has_dumpio_level(tree):
            edits: tuple[FileEdit, ...] = add_log_level(tree, line, "dumpio", TRACE)
            yield Finding(
                "C31",
                line.place,
                "2.4 logs the data of mod_dumpio at trace7 only, not at debug",
                "write LogLevel dumpio:trace7",
                Risk.COSMETIC,
                Safety.SAFE,
                edits,
            )
            break


def _enabled(tree: ConfigTree) -> Iterator[Statement]:
    return (
        line
        for line in tree.named("dumpioinput", "dumpiooutput")
        if [word.lower() for word in line.words()[:1]] == ["on"]
    )


def _is_logged_22(tree: ConfigTree, line: Statement, level: str) -> bool:
    """Return True if 2.2 logs data of *level* at *line*."""
    if not any(True for _ in _enabled(tree)) or level.lower() not in LEVELS:
        return False
    servers = {server_of(line), None}
    log_levels = [level_line for level_line in tree.named("loglevel") if server_of(level_line) in servers]
    server_levels = [
        level_line for level_line in log_levels if server_of(level_line) is server_of(line)
    ] or log_levels
    words = [word.lower() for level_line in server_levels[-1:] for word in level_line.words()[:1]]
    threshold = words[0] if words and words[0] in LEVELS else "warn"
    return LEVELS.index(level.lower()) <= LEVELS.index(threshold)


def _has_dumpio_level(tree: ConfigTree) -> bool:
    return any(
        word.lower().startswith("dumpio:") for line in lines_for_24(tree, "loglevel") for word in line.words()
    )


RULE = Rule("C31", "dump-io-log-level", "DumpIOLogLevel is gone", check)
