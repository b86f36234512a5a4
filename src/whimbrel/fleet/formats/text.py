"""Text of a fleet: a line for each server, the rules that matter most, the counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.terminal_text import columns_of, padded, shown, wrapped
from whimbrel.fleet.model import FleetReport, RuleTotal, ServerResult, of_all
from whimbrel.report.formats.frames import RISK_COLORS, FrameStyle
from whimbrel.report.model import EFFECT_CLASSES, EffectClass
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
REVIEW: Final = "to decide"
"""The head of the column of findings that a person must look at; `verify` has none."""
UNDECIDED: Final = "not known"
"""The head of the column of facts that are not known and may matter."""
TIME: Final = "time"
MIN_TIME: Final = 10
MIN_FAULT: Final = 30
"""Columns of a reason beside long names."""
_BREAKS: Final = EffectClass(Risk.BREAKS)
_HEAD: Final = ServerResult("server", "", "verdict", 0)
_LESS_WANTED: Final = ("cosmetic", TIME, "unread", "500s", "opens", "changes", "closes")
"""Columns that a narrow terminal does without, in this order."""


def render(report: FleetReport, style: FrameStyle = PLAIN, following: str = "", *, index: str = "") -> str:
    """Return the table of servers, the rules, the counts, what to do first, and the command *following*.

    *index*: the path of the page of the fleet, "" for none.
    """
    lines = [*_table(report, style)]
    rules = report.rule_totals()
    if rules:
        lines += ["", "rules that matter most", *_rules(rules, style)]
    lines += ["", *(line for text in summary(report) for line in wrapped(text, style.width))]
    if index:
        lines.append(f"pages: {shown(index, MAX_FAULT)}, which leads to that of each server")
    first = report.first()
    if first:
        lines += wrapped(f"First: {shown(first, MAX_FAULT)}", style.width)
    if following:  # whole: a command that is broken between words cannot be pasted
        lines.append(f"Next: {shown(following, MAX_FAULT)}")
    return "".join(f"{line}\n" for line in lines)


def summary(report: FleetReport) -> Iterator[str]:
    """Yield the counts of servers, and what an interrupt has left."""
    done = len(report.servers)
    if report.is_interrupted:
        yield f"interrupted: {done:,} of {count_noun(report.total, 'server')} are finished"
    equal = sum(bool(server.same_as) for server in report.servers)
    yield f"{count_noun(done, 'server')}: {report.verdict_counts() or 'none finished'}"
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


def shown_effects(report: FleetReport) -> list[EffectClass]:
    """Return the classes of effects that a server has: the columns of all others would be zeros."""
    counts = [server.by_effect() for server in report.servers]
    return [effect for effect in WORDS if any(count.get(effect) for count in counts)]


def _table(report: FleetReport, style: FrameStyle) -> Iterator[str]:
    servers = sorted(report.servers, key=ServerResult.work)
    names = [shown(server.name, MAX_NAME) for server in servers]
    name_width = max(map(columns_of, ("server", *names)))
    verdict_width = max(len(server.verdict) for server in (*servers, _HEAD))
    heads = _heads(report, style.width - name_width - verdict_width - 2)
    if servers:
        order = ", ".join(word for word in (REVIEW, UNDECIDED, WORDS[_BREAKS]) if word in heads)
        rest = f", then by {order} and the columns to its right" if order else ""
        yield from wrapped(f"most work first: sorted by verdict{rest}", style.width)
    begin = f"{padded('server', name_width)}  {padded('verdict', verdict_width)}"
    yield "  ".join([begin, *(f"{head:>{_width(head)}}" for head in heads)])
    for name, server in zip(names, servers, strict=True):
        color = RISK_COLORS[next(iter(server.by_risk()), Risk.COSMETIC)] if server.code == 1 else ""
        verdict = style.paint(padded(server.verdict, verdict_width), color)
        begin = f"{padded(name, name_width)}  {verdict}"
        has_counts = bool(server.rules) or not server.fault
        if has_counts:
            cells = {**_counts(server), TIME: f"{duration(server.seconds)}"}
            row = [f"{cells[head]:>{_width(head)}}" for head in heads if head != TIME or not server.same_as]
            same = [f"= {shown(server.same_as, MAX_NAME)}"] if server.same_as else []
            yield "  ".join([begin, *row, *same])
        # why a server has no result stands in the place of its counts, and below them where it has some
        used = 4 if has_counts else name_width + verdict_width + 4
        pieces = wrapped(shown(server.fault or server.note, MAX_FAULT), max(style.width - used, MIN_FAULT))
        if not has_counts:
            yield f"{begin}  {pieces.pop(0)}"
        yield from (f"{' ' * used}{piece}" for piece in pieces if piece)
        if server.access and not server.same_as:
            access = wrapped(f"access: {shown(server.access, MAX_FAULT)}", max(style.width - 4, MIN_FAULT))
            yield from (f"    {piece}" for piece in access)


def _heads(report: FleetReport, width: int) -> list[str]:
    """Return the columns of counts: those without a count are left out, and the last ones that *width* has no
    room for.
    """
    heads = [WORDS[effect] for effect in shown_effects(report)]
    heads += [REVIEW] if report.command != "verify" and any(one.review for one in report.servers) else []
    heads += [UNDECIDED] if any(server.undecided for server in report.servers) else []
    heads.append(TIME)
    # in the place of a time, also where the column is left out
    equal = max(
        (columns_of(f"  = {shown(one.same_as, MAX_NAME)}") for one in report.servers if one.same_as),
        default=0,
    )
    for head in _LESS_WANTED:
        counts = sum(_width(one) + 2 for one in heads if one != TIME)
        last = max(equal, _width(TIME) + 2 if TIME in heads else 0)
        if counts + last > width and head in heads:
            heads.remove(head)
    return heads


def _counts(server: ServerResult) -> dict[str, str]:
    counts = server.by_effect()
    words = {word: f"{counts.get(effect, 0):,}" for effect, word in WORDS.items()}
    return {**words, REVIEW: f"{server.review:,}", UNDECIDED: f"{server.undecided:,}"}


def _width(head: str) -> int:
    return MIN_TIME if head == TIME else len(head)


def _rules(rules: list[RuleTotal], style: FrameStyle) -> Iterator[str]:
    top = rules[:MAX_RULES]
    name_width = max(len(f"{one.rule} {one.name}") for one in top)
    risk_width = max(len(one.effect.name) for one in top)
    for one in top:
        risk = style.paint(padded(one.effect.name, risk_width), RISK_COLORS[one.effect.risk])
        servers = of_all(one.worst_servers, count_noun(one.servers, "server"), one.servers)
        findings = of_all(one.worst_findings, count_noun(one.findings, "finding"), one.findings)
        yield f"  {padded(f'{one.rule} {one.name}', name_width)}  {risk}  {servers:>14}  {findings:>16}"
    if len(rules) > MAX_RULES:
        yield f"  and {len(rules) - MAX_RULES} more (--format json names all)"
