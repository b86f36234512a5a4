"""Readiness: the sentence of an upgrade about going live."""

from __future__ import annotations

from collections import Counter

import pytest

from whimbrel.base.errors import SourceLocation
from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import Change, ChangeKey, Tally
from whimbrel.report.model import ReportEntry
from whimbrel.report.readiness import readiness, readiness_of_comparison, readiness_of_replay
from whimbrel.upgrade.check.fixpoint import NOT_SHOWN
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.knowledge.start_stops import StartStops
from whimbrel.upgrade.model import Risk
from whimbrel.verify.causes import Cause
from whimbrel.verify.side import LoadError
from whimbrel.verify.verification import DifferenceGroup, NotDecided, Verdict, VerifyResult

FIXED = ReportEntry("C17", "a", 1, "m", is_fixable=True, risk=Risk.BREAKS)
CHANGES = ReportEntry("R02", "a", 2, "m", needs_review=True, risk=Risk.CHANGES)
BREAKS = ReportEntry("C50", "b", 3, "m", needs_review=True, risk=Risk.BREAKS)
FACT = UnknownItem(UnknownKind.NOT_READ, None, "a fact")
DECISION = ReportEntry("X02", "a", 4, "m", is_fixable=True, decision="which options", risk=Risk.OPENS)


@pytest.mark.parametrize(
    ("entries", "unknown", "uncompared", "sentence"),
    [
        ([FIXED], 0, "", "yes: nothing is left to do by hand"),
        ([FIXED], 1, "", "not decided: 1 fact that may matter is not known"),
        ([], 0, "no comparison", "not decided: no comparison"),
        ([], 2, "no comparison", "not decided: 2 facts that may matter are not known, no comparison"),
        ([CHANGES], 2, "no comparison", "not yet: to decide: 1 finding at 1 place"),
        (
            [CHANGES, FIXED, BREAKS, DECISION],
            0,
            "",
            "no: to decide: 3 findings at 3 places",
        ),
        ([CHANGES] * 9, 0, "", "not yet: to decide: 9 findings at 1 place"),
    ],
)
def test_the_sentence(entries: list[ReportEntry], unknown: int, uncompared: str, sentence: str) -> None:
    assert readiness(entries, [FACT] * unknown, uncompared) == f"ready for 2.4: {sentence}"


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (1, "1 cause of other answers lies in the versions alone (whimbrel verify shows what records it)"),
        (
            2,
            "2 causes of other answers lie in the versions alone (whimbrel verify shows what records them)",
        ),
    ],
)
def test_what_verify_finds_in_the_versions_alone_is_to_review(count: int, reason: str) -> None:
    assert readiness([], [], "", count) == f"ready for 2.4: not yet: {reason}"


def test_text_that_was_not_read_decides_nothing() -> None:
    unread = ReportEntry("READ", "a", 3, "m", needs_review=True, risk=Risk.CHANGES)
    assert readiness([unread], [FACT], "") == "ready for 2.4: not decided: 1 place could not be read: a:3"


def compared(**parts: object) -> VerifyResult:
    return VerifyResult(dialects=("2.2", "2.4"), **parts)  # type: ignore[arg-type]


def group(kind: str = "response", rule: str = "") -> DifferenceGroup:
    return DifferenceGroup(kind, Cause((), ()), rule=rule)


OPEN = "to decide: 1 finding at 1 place"
BAD = LoadError("bad", SourceLocation("/a.conf", 7))


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (compared(), "yes: no answer differs"),
        (
            compared(groups=[group(rule="C30")]),
            "yes: no answer differs, but for 0 cosmetic differences (C30)",
        ),
        (compared(groups=[group(), group(rule="C30")]), "not yet: 1 cause of other answers is to review"),
        (compared(groups=[group("access"), group()]), "no: 1 cause of access that differs"),
        (compared(to_decide=OPEN), f"not yet: {OPEN}"),
        (compared(to_decide=OPEN, has_stop=True), f"no: {OPEN}"),
        (
            compared(groups=[group()], to_decide=OPEN),
            f"not yet: 1 cause of other answers is to review; {OPEN}",
        ),
        (compared(errors=((), (BAD,))), "no: the new configuration does not load: /a.conf:7"),
        (
            compared(errors=((BAD,), ())),
            "not decided: the old configuration does not load: /a.conf:7, so nothing was compared",
        ),
        (
            compared(start_stops=StartStops((), ((SourceLocation("/a", 1), "x"),))),
            "not yet: it does not start here: /a:1: x",
        ),
        (compared(is_cut=True), "not decided: not every request that can be derived was asked"),
        (compared(unwritten="a copy answers 500"), "not yet: a copy answers 500"),
        (compared(not_decided=[NotDecided("x")]), "not decided: 1 line or chain is not decided"),
    ],
)
def test_the_sentence_of_a_comparison(result: VerifyResult, sentence: str) -> None:
    assert readiness_of_comparison(result) == f"ready for 2.4: {sentence}"
    # the exit status is 0 with "yes" alone
    assert (result.verdict is Verdict.SAME) == sentence.startswith("yes: ")


def test_other_versions_have_no_sentence() -> None:
    assert readiness_of_comparison(VerifyResult(dialects=("2.4", "2.4"))) == ""
    assert readiness_of_replay(Summary("a", "b", (), Tally(), dialects=("2.4", "2.4"))) == ""


@pytest.mark.parametrize(
    ("statuses", "changes", "sentence"),
    [
        ({(200, 200, 200): 3}, {}, "yes for these logs: none of 3 requests changes"),
        ({(200, 200, 500): 2, (200, 200, 200): 1}, {}, "no: 2 of 3 requests gain or lose access"),
        # another refusal is no access, as in a comparison
        ({(200, 401, 403): 2, (200, 200, 200): 1}, {}, "not yet: 2 of 3 requests change their status"),
        ({(200, 200, 200): 3}, {ChangeKey("vary"): 2}, "not yet: 2 of 3 requests change, none its status"),
        (
            {(200, 200, 200): 3},
            {ChangeKey("vary", rule="C30"): 2},
            "yes for these logs: none of 3 requests changes but for what is cosmetic",
        ),
        ({}, {}, "not decided: no request was replayed"),
    ],
)
def test_the_sentence_of_a_replay(
    statuses: dict[tuple[int, int, int], int], changes: dict[ChangeKey, int], sentence: str
) -> None:
    tally = Tally(requests=sum(statuses.values()), statuses=Counter(statuses))
    tally.changes = {key: Change(requests=number) for key, number in changes.items()}
    summary = Summary("a", "b", (), tally, dialects=("2.2", "2.4"))
    assert readiness_of_replay(summary) == f"ready for 2.4: {sentence}"
    assert summary.is_known == bool(statuses)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"no_start": "/a:1: x"}, "not yet: it does not start here: /a:1: x"),
        ({"unwritten": "a copy answers 500"}, "not yet: a copy answers 500"),
    ],
)
def test_a_replay_without_changes_names_what_stops_the_new_server(
    part: dict[str, str], sentence: str
) -> None:
    tally = Tally(requests=1, statuses=Counter({(200, 200, 200): 1}))
    summary = Summary("a", "b", (), tally, dialects=("2.2", "2.4"), **part)  # type: ignore[arg-type]
    assert readiness_of_replay(summary) == f"ready for 2.4: {sentence}"
    assert not summary.is_known


@pytest.mark.parametrize(("has_stop", "verdict"), [(False, "not yet"), (True, "no")])
def test_a_replay_without_changes_does_not_hide_what_is_to_decide(has_stop: bool, verdict: str) -> None:
    other = "1 of 1 request changes, none its status"
    both = f"{OPEN}; {other}" if has_stop else f"{other}; {OPEN}"
    for changes, reason in (({}, OPEN), ({ChangeKey("vary"): Change(requests=1)}, both)):
        tally = Tally(requests=1, statuses=Counter({(200, 200, 200): 1}), changes=changes)
        summary = Summary("a", "b", (), tally, dialects=("2.2", "2.4"), to_decide=OPEN, has_stop=has_stop)
        assert readiness_of_replay(summary) == f"ready for 2.4: {verdict}: {reason}"


LIBRARY = UnknownItem(
    UnknownKind.ASSUMED, SourceLocation("/s/a.conf", 3), "ignore[C06]: m.so is built for 2.4", NOT_SHOWN
)
"""2.4 refuses a library with another API, and nobody has read this one."""
UNSHOWN = "ready for 2.4: not decided: 1 fact that may matter is not known "
UNSHOWN += f"(a.conf:3: {LIBRARY.subject}, {NOT_SHOWN})"
STOP = "/s/b.conf:5: SuexecUserGroup configured, but suEXEC is disabled"


def test_a_library_that_nobody_has_read_is_not_ready_in_any_command() -> None:
    scope = KnowledgeScope(items=(LIBRARY,))
    assert readiness([], [LIBRARY], "", directory="/s") == UNSHOWN
    assert readiness_of_comparison(compared(scope=scope)) == UNSHOWN.replace("a.conf", "/s/a.conf")
    summary = Summary("a", "b", (), Tally(requests=1), sides=scope, dialects=("2.2", "2.4"))
    assert readiness_of_replay(summary) == UNSHOWN.replace("a.conf", "/s/a.conf")


def test_what_ends_the_start_here_is_not_ready_in_any_command() -> None:
    place, _, reason = STOP.partition(": ")
    lines = ((SourceLocation(place[:-2], int(place[-1])), reason),)
    sentence = f"ready for 2.4: not yet: it does not start here: {STOP}"
    assert readiness([], [], "", no_start=STOP) == sentence
    assert readiness_of_comparison(compared(start_stops=StartStops(lines=lines))) == sentence
    summary = Summary("a", "b", (), Tally(requests=1), dialects=("2.2", "2.4"), no_start=STOP)
    assert readiness_of_replay(summary) == sentence
