"""C31: DumpIOLogLevel is gone, mod_dumpio logs at trace7.  Document: documents/C31-dump-io-log-level.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.estate import Estate, Statement
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Rule, Safety
from whimbrel.upgrade.rules.helping import drop, in_24, server_of
from whimbrel.upgrade.rules.log_levels import beside, instead

TRACE: Final = 7
LEVELS: Final = ("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug")


def check(estate: Estate) -> Iterator[Finding]:
    """Every DumpIOLogLevel, and dumps that were seen in 2.2 and would not be in 2.4."""
    for line in estate.named("dumpiologlevel"):
        seen = _seen(estate, line, (line.words() or ["debug"])[0])
        yield Finding(
            "C31", line.place, "DumpIOLogLevel is gone: 2.4 does not start with it", "take it away; LogLevel dumpio:trace7 shows the data",
            Risk.BREAKS, Safety.SAFE, instead(estate, line, "dumpio", TRACE) if seen else drop(estate, line),
        )
    if not estate.has("dumpiologlevel"):
        yield from _unlevelled(estate)


def _unlevelled(estate: Estate) -> Iterator[Finding]:
    """Dumps at the level that 2.2 had without a line, debug."""
    for line in _switched_on(estate):
        if _seen(estate, line, "debug") and not _told(estate):
            edits: tuple[FileEdit, ...] = beside(estate, line, "dumpio", TRACE)
            yield Finding("C31", line.place, "2.4 shows the data that mod_dumpio sees at trace7 only, not at debug", "say LogLevel dumpio:trace7",
                          Risk.COSMETIC, Safety.SAFE, edits)
            break


def _switched_on(estate: Estate) -> Iterator[Statement]:
    return (line for line in estate.named("dumpioinput", "dumpiooutput") if [word.lower() for word in line.words()[:1]] == ["on"])


def _seen(estate: Estate, line: Statement, level: str) -> bool:
    """Whether data of *level* reached the error log of 2.2 where *line* stands."""
    if not any(True for _ in _switched_on(estate)) or level.lower() not in LEVELS:
        return False
    servers = {server_of(line), None}
    asked = [one for one in estate.named("loglevel") if server_of(one) in servers]
    own = [one for one in asked if server_of(one) is server_of(line)] or asked
    words = [word.lower() for one in own[-1:] for word in one.words()[:1]]
    threshold = words[0] if words and words[0] in LEVELS else "warn"
    return LEVELS.index(level.lower()) <= LEVELS.index(threshold)


def _told(estate: Estate) -> bool:
    return any(word.lower().startswith("dumpio:") for line in in_24(estate, "loglevel") for word in line.words())


RULE = Rule("C31", "dump-io-log-level", "DumpIOLogLevel is gone", check)
