"""Text of a fleet: a line for each server, the rules that matter most, the counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.terminal_text import columns_of, padded, shown, wrapped
from whimbrel.fleet.model import FleetReport, RuleTotal, ServerResult
from whimbrel.report.formats.frames import RISK_COLORS, FrameStyle
from whimbrel.report.model import EFFECT_CLASSES
from whimbrel.upgrade.model import Risk

MAX_NAME: Final = 40
"""Characters of the name of a server."""
MAX_FAULT: Final = 300
MAX_RULES: Final = 10
"""The rules that text shows; JSON has all."""
PLAIN: Final = FrameStyle()
WORDS: Final = dict(
    zip(EFFECT_CLASSES, ("breaks", "500s", "opens", "closes", "changes", "unread", "cosmetic"), strict=True)
)
"""The heads of the columns of counts: 500s are the lines that break requests rather than the start, unread is
what could not be read."""
REVIEW: Final = "review"
"""The head of the column of findings that a person must look at; `verify` has none."""


def render(report: FleetReport, style: FrameStyle = PLAIN) -> str:
    """Return the table of servers, then the rules, then the counts."""
    lines = [*_table(report, style)]
    rules = report.rule_totals()
    if rules:
        lines += ["", "rules that matter most", *_rules(rules, style)]
    lines += ["", *(line for text in summary(report) for line in wrapped(text, style.width))]
    return "".join(f"{line}\n" for line in lines)


def summary(report: FleetReport) -> Iterator[str]:
    """Yield the counts of servers, and what an interrupt has left."""
    done = len(report.servers)
    if report.is_interrupted:
        yield f"interrupted: {done:,} of {count_noun(report.total, 'server')} are finished"
    equal = sum(bool(server.same_as) for server in report.servers)
    parts = [f"{count:,} {verdict}" for verdict, count in report.verdicts().items()]
    yield f"{count_noun(done, 'server')}: {', '.join(parts) or 'none finished'}"
    worked = f"{done - equal:,} worked on, {equal:,} equal to another" if equal else f"{done:,} worked on"
    yield f"{worked}, in {duration(report.seconds)} by {count_noun(report.workers, 'process', 'processes')}"
    for name in report.cut_writes:
        yield f"{shown(name, MAX_NAME)}: interrupted while its files were written: whimbrel upgrade --undo"


def duration(seconds: float) -> str:
    """Return a time in words: 0.41 s, 12 s, 4 min 12 s."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _table(report: FleetReport, style: FrameStyle) -> Iterator[str]:
    servers = sorted(report.servers, key=ServerResult.work)
    names = [shown(server.name, MAX_NAME) for server in servers]
    verdicts = [server.verdict for server in servers]
    has_review = report.command != "verify"
    name_width = max(map(columns_of, ("server", *names)))
    verdict_width = max(map(len, ("verdict", *verdicts)))
    if servers:
        review = f"{REVIEW}, " if has_review else ""
        yield f"most work first: by verdict, then {review}undecided, breaks and the columns that follow it"
    heads = [*WORDS.values(), *([REVIEW] if has_review else []), "undecided"]
    head = "  ".join(heads)
    yield f"{padded('server', name_width)}  {padded('verdict', verdict_width)}  {head}      time"
    for name, server in zip(names, servers, strict=True):
        color = RISK_COLORS[next(iter(server.by_risk()), Risk.COSMETIC)] if server.code == 1 else ""
        verdict = style.paint(padded(server.verdict, verdict_width), color)
        begin = f"{padded(name, name_width)}  {verdict}"
        if server.fault:
            yield f"{begin}  {shown(server.fault, MAX_FAULT)}"
            continue
        counts = server.by_effect()
        cells = [f"{counts.get(effect, 0):>{len(word)},}" for effect, word in WORDS.items()]
        if has_review:
            cells.append(f"{server.review:>{len(REVIEW)},}")
        cells.append(f"{server.undecided:>{len('undecided')},}")
        yield f"{begin}  {'  '.join(cells)}  {_time(server)}"


def _time(server: ServerResult) -> str:
    return f"= {shown(server.same_as, MAX_NAME)}" if server.same_as else f"{duration(server.seconds):>8}"


def _rules(rules: list[RuleTotal], style: FrameStyle) -> Iterator[str]:
    top = rules[:MAX_RULES]
    name_width = max(len(f"{one.rule} {one.name}") for one in top)
    risk_width = max(len(one.risk.value) for one in top)
    for one in top:
        risk = style.paint(padded(one.risk.value, risk_width), RISK_COLORS[one.risk])
        servers = f"{count_noun(one.servers, 'server'):>14}"
        yield (
            f"  {padded(f'{one.rule} {one.name}', name_width)}  {risk}  {servers}  "
            f"{count_noun(one.findings, 'finding'):>16}"
        )
    if len(rules) > MAX_RULES:
        yield f"  and {len(rules) - MAX_RULES} more (--format json names all)"
