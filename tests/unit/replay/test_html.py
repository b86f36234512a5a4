"""The page of a replay."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.support.report_pages import Outline
from tests.unit.replay.replayed_site import line, work_of, write_log

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.replay.causes import ChangeCauses
from whimbrel.replay.html import html_of, page_of, risk_of
from whimbrel.replay.log_files import pieces_of
from whimbrel.replay.log_format import COMBINED, LineFormat
from whimbrel.replay.summary import STATUS, Summary
from whimbrel.replay.tally import HANDLER_CHANGED, MAX_HOURS, NOT_RUN, PROGRAM, CausingLine, ChangeKey, Tally
from whimbrel.replay.work import Replayer
from whimbrel.upgrade.model import Risk
from whimbrel.verify.answer import Answer
from whimbrel.verify.difference import Difference
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import Example


def summary() -> Summary:
    tally = Tally(lines=1_012, requests=1_010, malformed=2, malformed_examples=["<b>\\xff"])
    tally.statuses.update({(200, 200, 403): 4, (200, 200, 200): 1_006})
    tally.status_examples[200, 403] = "GET http://a/x from 10.0.0.1"
    change = tally.change(
        ChangeKey(
            "status 200 -> 403", (), (CausingLine("/etc/a.conf", 7, "Require ip <x>"),), is_of_access=True
        )
    )
    change.requests, change.distinct = 4, 1
    change.clients = Counter({"10.0.0.1": 3, "10.0.0.2": 1})
    change.paths["/<i>"] = 4
    change.examples.append("GET http://a/<i> from 10.0.0.1")
    return Summary("old", "new", ("log",), tally)


def test_the_facts_are_in_the_page() -> None:
    page = Outline(html_of(summary()))
    assert not page.open and not page.named("b[onclick]", "i")
    for text in (
        *(
            "4 of 1,010 requests get another answer (0.40 %); 1 fact that may matter is not known",
            "1,012 lines, 1,010 requests",
        ),
        *("lines of another format: 2", "<b>\\xff", "Require ip <x>", "/etc/a.conf", "status 200 -> 403"),
        *("GET http://a/x from 10.0.0.1", "1,006 requests have the status that was logged", "/<i>", "log"),
        *("For whom: 2 clients, 1 path, with examples", "GET http://a/<i> from 10.0.0.1", "not replayed"),
    ):
        assert text in page.text, text


def test_the_sentence_names_requests_that_were_not_run() -> None:
    """Their answers are those of a program: "0 of 200 get another answer" would be said of them too."""
    counted = summary()
    counted.tally.statuses[200, NOT_RUN, NOT_RUN] = 44
    sentence = page_of(counted).sentence
    assert sentence.startswith(
        "4 of 966 requests that were run get another answer (0.41 %); 44 were not run; "
    )


def test_access_and_verdict() -> None:
    page = page_of(summary())
    assert (page.badge.text, page.badge.risk) == ("Answers change", "closes")
    assert [cell.text for cell in page.tables[0].rows[0]] == [
        "loses access",
        "10.0.0.1, 10.0.0.2",
        "/<i>",
        "200",
        "403",
        "4",
    ]
    assert page_of(Summary("a", "b", (), Tally(requests=1))).badge.text == "Nothing changes"
    broken = page_of(Summary("a", "b", (), Tally(), ("b: Invalid command",)))
    assert (broken.badge.text, broken.groups[0].items[0].message) == ("Does not load", "b: Invalid command")


@pytest.mark.parametrize(
    ("what", "risk"),
    [
        ("status 403 -> 200", Risk.OPENS),
        ("status 401 -> 302, content-type a -> b", Risk.OPENS),
        ("status 200 -> 401", Risk.CLOSES),
        ("status 200 -> 404", Risk.CHANGES),
        (f"status {PROGRAM} -> 403", Risk.CLOSES),
        (f"status 401 -> {PROGRAM}", Risk.OPENS),
        (f"status 404 -> {PROGRAM}", Risk.CHANGES),
        ("cache-control a -> b", Risk.CHANGES),
    ],
)
def test_risks(what: str, risk: Risk) -> None:
    """Whatever line decided: `verify` counts them alike, from the statuses alone."""
    for is_of_access in (True, False):
        assert risk_of(ChangeKey(what, is_of_access=is_of_access)) is risk
    found = STATUS.search(what)
    if found is not None:
        statuses = [200 if word == PROGRAM else int(word) for word in found.groups()]
        answers = [Answer(status=status) for status in statuses]
        example = Example(Probe(), Difference(()), *answers)
        assert (example.opens, example.closes) == (risk is Risk.OPENS, risk is Risk.CLOSES)


def test_requests_are_counted_by_hour_if_that_is_wanted(tmp_path: Path) -> None:
    moved = line("/closed/x").replace("13:55:36", "14:00:00")
    untimed = line("/index.html").replace("[10/Oct/2000:13:55:36 -0700]", "[now]")
    log = write_log(tmp_path, [line("/closed/x"), line("/index.html") * 2, moved, untimed])
    work = work_of(tmp_path)
    for with_hours, hours in (
        (True, {"10/Oct/2000:13": (3, 1), "10/Oct/2000:14": (1, 1), "": (1, 0)}),
        (False, {}),
    ):
        tally = Tally()
        replayer = Replayer(replace(work, with_hours=with_hours))
        for piece in pieces_of([log]):
            tally.add(replayer.run(piece))
        assert (tally.requests, tally.changed, tally.hours) == (5, 2, hours)


def test_what_is_cosmetic_is_no_other_answer_of_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence of the page counts such requests apart, so its chart has them among the others."""
    monkeypatch.setattr(ChangeCauses, "change", lambda *_arguments: ChangeKey("vary", rule="C30"))
    log = write_log(tmp_path, [line("/closed/x"), line("/index.html")])
    tally = Tally()
    for piece in pieces_of([log]):
        tally.add(Replayer(replace(work_of(tmp_path), with_hours=True)).run(piece))
    assert tally.hours == {"10/Oct/2000:13": (2, 0)} and tally.changed == 1


def test_without_an_old_configuration_hours_count_other_statuses_than_logged(tmp_path: Path) -> None:
    """Then nothing changes, and the sentence of the page counts what was logged otherwise."""
    log = write_log(
        tmp_path, [line("/index.html"), line("/index.html", status=404), line("/none", status=404)]
    )
    work = work_of(tmp_path)
    tally = Tally()
    for piece in pieces_of([log]):
        tally.add(Replayer(replace(work, old=work.new, with_hours=True)).run(piece))
    assert tally.changed == 0 and tally.hours == {"10/Oct/2000:13": (3, 1)}


def test_formats_without_a_time_have_no_hours() -> None:
    assert "hour" in LineFormat.compile(COMBINED, with_hours=True).names
    for text in ('%h "%r" %>s', '%h "%{%s}t" "%r" %>s', '[%t] "%r"'):
        assert "hour" not in LineFormat.compile(text, with_hours=True).names, text
    timed = LineFormat.compile('%h %t "%r" %>s', with_hours=True)
    assert timed.parse(b'10.0.0.1 [x] "GET / HTTP/1.1" 200') is not None


def test_hours_are_bounded() -> None:
    tally = Tally()
    for at in range(MAX_HOURS + 50):
        tally.count_hour(b"%d" % at, 2, is_changed=at % 2 == 0)
    assert len(tally.hours) == MAX_HOURS + 1
    assert tally.hours[""] == (100, 50)


def test_requests_that_were_not_run_are_none_with_the_same_answer() -> None:
    """Nothing is known of what programs and back ends send."""
    tally = Tally(requests=14)
    tally.statuses.update({(200, 200, 200): 5, (200, 0, 0): 6, (200, 200, 403): 2, (200, 0, 403): 1})
    tally.change(ChangeKey("status 200 -> 403")).requests = 2
    tally.change(ChangeKey(f"status {PROGRAM} -> 403")).requests = 1
    tally.change(ChangeKey(HANDLER_CHANGED)).requests = 2
    cards = {card.name: card.count for card in page_of(Summary("old", "new", ("log",), tally)).cards}
    assert (cards["requests, same answer"], cards["requests, not run"]) == (5, 4)
    against_log = {card.name: card.count for card in page_of(Summary("", "new", ("log",), tally)).cards}
    assert (against_log["requests, as logged"], against_log["requests, not run"]) == (5, 6)
