"""The page of a fleet: counts, rules, the table of servers, and the rules of each server with a filter."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final
from urllib.parse import quote

from whimbrel.base.counts import count_noun
from whimbrel.base.latin1 import to_bytes
from whimbrel.fleet.formats.text import WORDS, duration, shown_effects, summary
from whimbrel.fleet.model import SEVERITY, FleetReport, ServerResult, of_all
from whimbrel.fleet.servers import MAX_NAME
from whimbrel.report.model import EFFECT_CLASSES, EffectClass
from whimbrel.report.page.items import key_of
from whimbrel.report.page.model import (
    KEYS,
    SAME,
    UNDECIDED,
    Badge,
    Card,
    Cell,
    FindingGroup,
    ReportPage,
    ReportTable,
    ShownFinding,
)
from whimbrel.report.page.texts import Anchors, number, page_text
from whimbrel.upgrade.model import Risk

MAX_FINDINGS: Final = 5000
"""Rules of servers that the page shows; JSON has all."""
MAX_ROWS: Final = 200
"""Rows of the table of servers before its fold."""
SHOWN: Final = 100
"""Bytes of a name longer than `MAX_NAME` that are in the name of its page."""
TITLES: Final = {
    "check": "Servers: from httpd 2.2 to 2.4",
    "upgrade": "Servers: from httpd 2.2 to 2.4",
    "verify": "Servers: old and new answers",
}


def fleet_page(report: FleetReport, following: str = "") -> ReportPage:
    """Return the page of *report* with the command *following*."""
    anchors = Anchors()
    groups = tuple(_groups(report, anchors))
    places = {group.title: group.anchor for group in groups}
    sentences = [page_text(text) for text in summary(report)]
    shown = sum(len(group.items) for group in groups)
    all_rules = sum(len(server.rules) for server in report.servers if not server.same_as)
    return ReportPage(
        report.command,
        TITLES[report.command],
        _badge(report),
        sentences[0],
        facts=tuple(sentences[1:]),
        cards=tuple(_cards(report)),
        tables=(_server_table(report, places), *_rule_table(report)),
        groups=groups,
        groups_title="Rules by server",
        nothing="Nothing was found.",
        left_out=f"The rules of the worst servers are shown, {number(shown)} of {number(all_rules)}; "
        "--format json has all."
        if shown < all_rules
        else "",
        first=page_text(report.first()),
        next_command=page_text(following),
        noun="rule",
        group="Server",
    )


def page_name(server: ServerResult) -> bytes:
    """Return the path of the page of *server* below the directory of the pages; of a long name its digest."""
    name = to_bytes(server.same_as or server.name)
    if len(name) > MAX_NAME:
        name = name[:SHOWN] + blake2b(name, digest_size=8).hexdigest().encode()
    return b"servers/%s.html" % name


def _badge(report: FleetReport) -> Badge:
    """Return the verdict of the worst server."""
    worst = min(report.servers, key=_severity, default=None)
    return (
        Badge("Not decided", UNDECIDED)
        if worst is None
        else Badge(worst.verdict.capitalize(), _risk_key(worst))
    )


def _severity(server: ServerResult) -> tuple[int, int]:
    """Return the place of a server among others, the worst first."""
    worst = next(iter(server.by_risk()), Risk.COSMETIC)
    return SEVERITY.index(server.code), worst.rank


def _cards(report: FleetReport) -> Iterator[Card]:
    counts = dict.fromkeys(EFFECT_CLASSES, 0)
    for server in report.servers:
        for effect, count in server.by_effect().items():
            counts[effect] += count
    for effect, count in counts.items():
        if count or not (effect.is_per_request or effect.is_unread):
            yield Card(effect.name, count, key_of(effect))
    yield Card("not decided", sum(server.undecided for server in report.servers), UNDECIDED, "servers")


def _rule_table(report: FleetReport) -> Iterator[ReportTable]:
    rows = tuple(
        (
            Cell(one.rule, "code"),
            Cell(one.name),
            Cell(one.effect.name, "chip", key_of(one.effect)),
            Cell(of_all(one.worst_servers, number(one.servers), one.servers), "number"),
            Cell(of_all(one.worst_findings, number(one.findings), one.findings), "number"),
        )
        for one in report.rule_totals()
    )
    if rows:
        yield ReportTable("Rules that matter most", ("Rule", "Name", "Effect", "Servers", "Findings"), rows)


def _server_table(report: FleetReport, places: dict[str, str]) -> ReportTable:
    """Return the table of servers, the worst first."""
    ordered = sorted(report.servers, key=ServerResult.work)
    effects = shown_effects(report)
    rows = tuple(_row(server, places, effects) for server in ordered)
    heads = [WORDS[effect].capitalize() for effect in effects]
    columns = ("Server", "Verdict", "Why", *heads, "To decide", "Not known", "Time")
    more = len(rows) - MAX_ROWS
    return ReportTable(
        "Servers",
        columns,
        rows[:MAX_ROWS],
        "servers",
        folded=rows[MAX_ROWS:],
        fold_title=f"{number(more)} more" if more > 0 else "",
    )


def _row(server: ServerResult, places: dict[str, str], effects: list[EffectClass]) -> tuple[Cell, ...]:
    counts = server.by_effect()
    name = page_text(server.name)
    risk = _risk_key(server)
    note = f"equal to {server.same_as}" if server.same_as else server.fault or server.note
    return (
        Cell(name, href=places.get(name, ""), page=_link(server)),
        Cell(server.verdict, "chip", risk),
        Cell(page_text(note), "sentence" if note else "text"),
        *(Cell(number(counts.get(effect, 0)), "number") for effect in effects),
        Cell(number(server.review), "number"),
        Cell(number(server.undecided), "number"),
        Cell("" if server.same_as else duration(server.seconds), "number", value=f"{server.seconds:.3f}"),
    )


def _risk_key(server: ServerResult) -> str:
    if server.code == 1:
        return KEYS[next(iter(server.by_risk()), Risk.CHANGES)]
    return {0: SAME, 2: KEYS[Risk.BREAKS]}.get(server.code, UNDECIDED)


def _link(server: ServerResult) -> str:
    return quote(page_name(server)) if server.has_page else ""


def _groups(report: FleetReport, anchors: Anchors) -> Iterator[FindingGroup]:
    """Yield the rules of each server that equals no earlier one, the worst servers first."""
    equal: dict[str, list[str]] = {}
    for server in report.servers:
        if server.same_as:
            equal.setdefault(server.same_as, []).append(server.name)
    own = [server for server in report.servers if server.rules and not server.same_as]
    left = MAX_FINDINGS
    for server in sorted(own, key=_severity):
        if len(server.rules) > left:
            return
        left -= len(server.rules)
        yield FindingGroup(
            anchors.new(f"server {server.name}"),
            page_text(server.name),
            tuple(_items(server, report, equal.get(server.name, []), anchors)),
        )


def _items(
    server: ServerResult, report: FleetReport, equal: list[str], anchors: Anchors
) -> Iterator[ShownFinding]:
    marks = (count_noun(len(equal), "equal server"),) if equal else ()
    for one in server.rules:
        yield ShownFinding(
            anchors.new(f"{server.name} {one.rule}"),
            one.rule,
            report.names.get(one.rule, ""),
            page_text(server.name),
            key_of(one.effect),
            one.effect.name,
            count_noun(one.count, "finding"),
            marks,
        )
