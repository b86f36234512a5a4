"""Reports of a replay."""

from __future__ import annotations

from collections import Counter

from whimbrel.base.errors import SourceLocation
from whimbrel.replay.summary import TOP, Summary
from whimbrel.replay.tally import (
    MAX_CAUSE_LINES,
    MAX_GROUPS,
    MAX_NAMES,
    NOT_RUN,
    CausingLine,
    Change,
    ChangeKey,
    Tally,
)
from whimbrel.replay.text import text_of
from whimbrel.report.knowledge import text_lines
from whimbrel.report.readiness import READY
from whimbrel.upgrade.model import Finding


def summary() -> Summary:
    tally = Tally(lines=12, requests=10, malformed=2, malformed_examples=["<b>\\xff"])
    tally.statuses.update({(200, 200, 403): 4, (200, 200, 200): 6})
    tally.status_examples[200, 403] = "GET http://a/x from 10.0.0.1"
    change = tally.change(
        ChangeKey(
            "status 200 -> 403", (), (CausingLine("/etc/a.conf", 7, "Require ip <x>"),), is_of_access=True
        )
    )
    change.requests, change.distinct = 4, 1
    change.clients["10.0.0.1"] = 4
    return Summary("old", "new", ("log",), tally)


def test_text() -> None:
    text = text_of(summary())
    head = "10 requests: 4 change their status, 0 otherwise\naccess: 0 requests gain it, 4 lose it\n"
    assert text.startswith(head) and text.count(head) == 1
    assert (
        "4 requests: status 200 -> 403\n    new: /etc/a.conf:7: Require ip <x>\n    clients: 10.0.0.1 (4)"
        in text
    )
    assert "2 lines have another format" in text and "logged 200, now 403" in text


def test_what_access_control_did_not_decide_is_counted_and_said() -> None:
    tally = Tally(lines=3, requests=3)
    tally.change(ChangeKey("status 301 -> 403")).requests = 2
    tally.change(ChangeKey("status 403 -> 200", is_of_access=True)).requests = 1
    text = text_of(Summary("old", "new", ("log",), tally))
    assert "3 requests: 3 change their status, 0 otherwise\naccess: 1 request gains it, 2 lose it" in text
    assert " 2 lose it (2 by another line than those of access control)\n" in text
    del tally.changes[ChangeKey("status 403 -> 200", is_of_access=True)]
    tally.changes = {ChangeKey("status 403 -> 404"): Change(2)}
    text = text_of(Summary("old", "new", ("log",), tally))
    assert "\naccess: no logged request gains or loses it; 2 requests get another refusal\n" in text
    tally.changes = {ChangeKey("status 401 -> 403"): Change(2), ChangeKey("status 403 -> 401"): Change(1)}
    text = text_of(Summary("old", "new", ("log",), tally))
    # RFC 9110, 15.5.2 and 15.5.4: credentials are asked for with 401, and do not help with 403
    assert "2 requests get 403 in the place of 401: users who log in may lose access" in text
    assert "1 request gets 401 in the place of 403: users who log in may gain access" in text
    tally.changes = {ChangeKey("status 301 -> 302"): Change(2)}
    assert "no logged request gains or loses it" in text_of(Summary("old", "new", ("log",), tally))


def test_the_answers_count_what_was_run() -> None:
    """The answer of a program is not known: nothing is said of the 67 requests that one answers."""
    tally = Tally(lines=200, requests=200)
    tally.statuses.update({(200, 200, 200): 127, (200, 403, 403): 6, (200, NOT_RUN, NOT_RUN): 67})
    run = Summary("old", "new", ("log",), tally, dialects=("2.2", "2.4"))
    ready, answer, *_ = text_of(run).splitlines()
    assert ready == f"{READY}yes for these logs: none of 133 requests that were run changes; 67 were not run"
    assert answer == "133 requests that were run: none is answered otherwise; 67 were not run"
    assert "\n127 requests have the status that was logged (95.49 %); 67 were not run\n" in text_of(run)
    told = run.as_dict()
    assert (told["requests"], told["compared"], told["not_run"]) == (200, 133, 67)
    tally.change(ChangeKey("vary", rule="C30")).requests = 19
    assert "\naccess: none of 133 requests that were run gains or loses it\n" in text_of(run)
    against_log = text_of(Summary("", "new", ("log",), tally))
    head = "6 of 133 requests that were run get another status than was logged (4.51 %); 67 were not run\n"
    assert against_log.startswith(head)
    programs = Tally(requests=2, statuses=Counter({(200, NOT_RUN, NOT_RUN): 2}))
    none = Summary("old", "new", ("log",), programs, dialects=("2.2", "2.4"))
    assert not none.is_known and text_of(none).startswith(f"{READY}not decided: no request was run\n")


def test_json() -> None:
    told = summary().as_dict()
    assert (told["requests"], told["changed"], told["log"]["as_logged"]) == (10, 4, 6)
    assert told["changes"][0]["new_lines"] == [{"file": "/etc/a.conf", "line": 7, "text": "Require ip <x>"}]
    assert told["skipped"]["malformed"] == 2


def test_names_and_changes_are_bounded() -> None:
    total = Change()
    for piece in range(3):
        total.add(
            Change(2 * MAX_NAMES, clients=Counter({f"{piece}.{n}": 1 + n % 3 for n in range(2 * MAX_NAMES)}))
        )
    assert len(total.clients) <= 2 * MAX_NAMES and total.dropped > 0
    tally = Tally()
    for number in range(MAX_GROUPS + 50):
        tally.change(ChangeKey("status", (CausingLine("f", number, ""),))).requests += 1
    assert len(tally.changes) <= MAX_GROUPS + 1 and tally.changed == MAX_GROUPS + 50


def whole() -> Summary:
    """Return a summary in which everything occurs."""
    tally = Tally(lines=2000, requests=1500, distinct=9, malformed=3, huge=2, without_request=1, missing=1200)
    tally.malformed_examples = ["bad"]
    tally.statuses.update(
        {(200, 200, 403): 4, (404, 200, 200): 9, (200, 200, 200): 80, (200, 200, 0): 5, (0, 200, 200): 6}
    )
    tally.status_examples[200, 403] = "GET /x"
    lines = (CausingLine("/old.conf", 3, "Deny from all"),), (CausingLine("/new.conf", 0, ""),)
    tally.changes[ChangeKey("status 200 -> 403", *lines, is_of_access=True)] = Change(
        4,
        2,
        Counter({"10.0.0.2": 3, "10.0.0.1": 3, "10.0.0.3": 9}),
        Counter({"bob": 1}),
        Counter({"a.test": 4}),
        Counter({f"/{number:02}": 1 for number in range(TOP + 2)}),
        ["GET /x", "GET /y"],
    )
    tally.changes[ChangeKey("vary")] = Change(requests=7)
    return Summary("old (2.2)", "new (2.4)", ("a.log", "b.log"), tally)


PATHS = ", ".join(f"/{number:02} (1)" for number in range(TOP))
ANSWER = """\
1,500 requests: 4 change their status, 7 otherwise
access: 0 requests gain it, 4 lose it
"""
GOLDEN = f"""\
{ANSWER}old: old (2.2)
new: new (2.4)
2,000 lines of a.log, b.log: 1,500 requests
3 lines have another format
2 lines are too long
1 line contains no request
    bad
KNOWLEDGE

7 requests: vary
    no line differs: a default of the dialect

4 requests: status 200 -> 403
    old: /old.conf:3: Deny from all
    new: /new.conf
    clients: 10.0.0.3 (9), 10.0.0.1 (3), 10.0.0.2 (3)
    users: bob (1)
    hosts: a.test (4)
    paths: {PATHS} and 2 more
    GET /x
    GET /y

80 of 1,489 requests that were run and whose line has a status have it, \
the lines of 6 others log none (5.37 %); 5 were not run
    9 requests: logged 404, both versions answer 200
    4 requests: logged 200, now 403: GET /x
{ANSWER.splitlines()[0]}
"""


def test_the_page() -> None:
    knowledge = "\n".join(text_lines(whole().scope))
    assert text_of(whole()) == GOLDEN.replace("KNOWLEDGE", knowledge)
    assert "1,200 of 1,500 requests: the files are not here" in knowledge
    assert "5 of 1,500 requests: a program or back end answers" in knowledge
    assert "5 of 2,000 lines: they have another format or are too long" in knowledge


def test_a_log_without_a_change() -> None:
    lines = text_of(Summary("o", "n", ("log",), Tally(lines=1, requests=1))).splitlines()
    assert lines[0] == "Nothing changes." and lines.count(lines[0]) == 1
    lines = text_of(Summary("o", "n", ("log",), Tally(lines=1))).splitlines()
    assert lines[0] == "No request was replayed."
    assert lines[-1] == "0 requests have the status that was logged (0 %)"
    unknown = Tally(lines=1, requests=1, missing=1)
    assert "Nothing changes in what is known." in text_of(Summary("o", "n", ("log",), unknown))


def test_a_side_that_does_not_load_has_its_error_alone() -> None:
    failed = Summary("o", "n", ("log",), Tally(), ("n: AH00526",))
    assert text_of(failed) == "old: o\nnew: n\nn: AH00526\n"


def test_all_of_the_json() -> None:
    told = whole().as_dict()
    del told["knowledge"]
    names = [{"name": f"/{number:02}", "requests": 1} for number in range(TOP)]
    assert told == {
        "old": "old (2.2)",
        "new": "new (2.4)",
        "logs": ["a.log", "b.log"],
        "errors": [],
        "lines": 2000,
        "requests": 1500,
        "changed": 11,
        "ready": "",
        "compared": 1_500,
        "not_run": 5,
        "missing_files": 1200,
        "skipped": {"malformed": 3, "huge": 2, "without_request": 1, "examples": ["bad"]},
        "changes": [
            {
                "what": "vary",
                "reason": "",
                "rule": "",
                "decided": [],
                "requests": 7,
                "old_lines": [],
                "new_lines": [],
                "clients": [],
                "users": [],
                "hosts": [],
                "paths": [],
                "numbers": {"clients": 0, "users": 0, "hosts": 0, "paths": 0},
                "examples": [],
            },
            {
                "what": "status 200 -> 403",
                "reason": "",
                "rule": "",
                "decided": [],
                "requests": 4,
                "old_lines": [{"file": "/old.conf", "line": 3, "text": "Deny from all"}],
                "new_lines": [{"file": "/new.conf", "line": 0, "text": ""}],
                "clients": [
                    {"name": "10.0.0.3", "requests": 9},
                    {"name": "10.0.0.1", "requests": 3},
                    {"name": "10.0.0.2", "requests": 3},
                ],
                "users": [{"name": "bob", "requests": 1}],
                "hosts": [{"name": "a.test", "requests": 4}],
                "paths": names,
                "numbers": {"clients": 3, "users": 1, "hosts": 1, "paths": TOP + 2},
                "examples": ["GET /x", "GET /y"],
            },
        ],
        "log": {
            "as_logged": 80,
            "differences": [
                {"logged": 404, "now": 200, "requests": 9, "example": ""},
                {"logged": 200, "now": 403, "requests": 4, "example": "GET /x"},
            ],
        },
    }


def test_what_is_cosmetic_is_no_other_answer() -> None:
    tally = Tally(lines=3, requests=3)
    tally.change(ChangeKey("vary", rule="C30")).requests = 2
    text = text_of(Summary("old", "new", ("log",), tally))
    assert "3 requests: none is answered otherwise, but for 2 in what is cosmetic (C30)\naccess: no l" in text


def test_a_comment_that_names_the_rule_decides_about_a_change() -> None:
    key = ChangeKey("status 301 -> 403", new=(CausingLine("/n", 7, "RewriteRule"),), reason="refused (R01)")
    tally = Tally(requests=2, statuses=Counter({(301, 301, 403): 2}), changes={key: Change(requests=2)})
    before = Summary("o", "n", ("log",), tally, dialects=("2.2", "2.4"))
    for rule, line, is_decided in (("R01", 7, True), ("R02", 7, False), ("R01", 8, False)):
        summary = before.with_decisions([Finding(rule, SourceLocation("/n", line), "m")])
        assert summary.has_changes_to_review is not is_decided
        text = text_of(summary)
        assert ("    decided in the text: R01 at /n:7\n" in text) is is_decided, text
        reason = "none of 2 requests changes but for what is decided in the text (R01 at /n:7)"
        yes = f"ready for 2.4: yes for these logs: {reason}"
        assert text.startswith(yes) is is_decided, text
        assert summary.as_dict()["changes"][0]["decided"] == (["R01 at /n:7"] if is_decided else [])


def test_a_cause_that_is_cut_is_not_decided() -> None:
    lines = tuple(CausingLine("/n", number, "Header") for number in range(1, MAX_CAUSE_LINES + 1))
    key = ChangeKey("vary", new=lines)
    tally = Tally(requests=1, changes={key: Change(requests=1)})
    recorded = [Finding("C01", SourceLocation("/n", line.line), "m") for line in lines]
    assert Summary("o", "n", (), tally).with_decisions(recorded).has_changes_to_review


def test_lines_without_a_status_are_no_part_of_the_share() -> None:
    """A log of `%t %h "%r" %b` beside one with `%>s`."""
    statuses = Counter({(200, 200, 200): 175, (200, 404, 404): 25, (0, 200, 200): 200})
    tally = Tally(lines=400, requests=400, statuses=statuses)
    text = text_of(Summary("o", "n", ("log",), tally))
    share = "175 of 200 requests with a logged status have it, the lines of 200 others log none (87.50 %)"
    assert share in text and "43.75" not in text
    tally = Tally(lines=2, requests=2, statuses=Counter({(0, 200, 200): 2}))
    text = text_of(Summary("o", "n", ("log",), tally))
    assert "no line logs a status: 2 requests cannot be compared with one\n" in text
