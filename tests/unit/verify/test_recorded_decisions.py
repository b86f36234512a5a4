"""A comment decides about a difference only if it names the rule that reports just this change."""

from __future__ import annotations

import pytest

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.page.verify_page import verify_page
from whimbrel.report.readiness import readiness_of_comparison
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.marks import OF_REQUEST, requests_in
from whimbrel.upgrade.source.suppressions import OF_COMMENT, suppressions
from whimbrel.verify.answer import DECIDES, Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.named_requests import MAX_REQUESTS
from whimbrel.verify.probe import Probe
from whimbrel.verify.recorded_decisions import has_recordable_decisions, lines_to_mark, mark_decided
from whimbrel.verify.verification import (
    DifferenceGroup,
    Example,
    NotDecided,
    Verdict,
    VerifyResult,
    access_differences,
    access_sentence,
)
from whimbrel.verify.weights import Weight

R01 = "mod_rewrite answers 403 (R01)"


def finding(rule: str, line: int, risk: Risk = Risk.CHANGES) -> Finding:
    return Finding(rule, SourceLocation("/new.conf", line), "m", risk=risk)


def compared(
    lines: tuple[int, ...], statuses: tuple[int, int], reason: str = "", kind: str = "response"
) -> VerifyResult:
    """Return a comparison with one cause at *lines* of the new text."""
    old, new = statuses
    part = FieldDifference("status", str(old), str(new))
    example = Example(Probe("/a"), Difference((part,)), Answer(old), Answer(new))
    cause = Cause((), tuple(DecidingLine("/new.conf", line, "text", "directive") for line in lines))
    group = DifferenceGroup(kind, cause, [example], 1, reason=reason)
    return VerifyResult(dialects=("2.2", "2.4"), groups=[group])


@pytest.mark.parametrize(
    ("result", "recorded", "is_decided"),
    [
        (compared((7,), (200, 404)), [finding("C13", 7)], True),
        (compared((7,), (200, 404)), [finding("C13", 8)], False),
        (compared((7, 9), (200, 404)), [finding("C13", 7)], False),
        (compared((7, 9), (200, 404)), [finding("C13", 7), finding("C13", 9)], True),
        (compared((), (200, 404)), [finding("C13", 7)], False),
        # the reason names the rule that reports it
        (compared((7,), (301, 403), R01), [finding("R01", 7)], True),
        (compared((7,), (301, 403), R01), [finding("R02", 7)], False),
        # the versions differ whatever the text is: a comment anywhere that names the rule
        (compared((), (200, 404), "no type (C13)"), [finding("C13", 7)], True),
        (compared((), (200, 404), "no type (C13)"), [finding("C30", 7)], False),
        (compared((), (200, 404), "no type (C13)"), [replace(finding("C13", 7), message=OF_COMMENT)], True),
        (compared((), (200, 404), "no type (C13)"), [finding("DIFF", 7)], False),
        (compared((), (403, 200), "no type (C13)"), [finding("C13", 7)], False),
        (compared((7,), (200, 404)), [replace(finding("C13", 7), message=OF_COMMENT)], False),
        # of access, the rule must report this direction
        (compared((7,), (403, 200), kind="access"), [finding("X22", 7, Risk.OPENS)], True),
        (compared((7,), (403, 200), kind="access"), [finding("X22", 7, Risk.CLOSES)], False),
        (compared((7,), (200, 403), kind="access"), [finding("X22", 7, Risk.CLOSES)], True),
        (compared((7,), (403, 200), kind="access"), [finding("C13", 7)], False),
        # DIFF: other answers are wanted, also that a client loses access, never that one gains it
        (compared((7,), (200, 404)), [finding("DIFF", 7)], True),
        (compared((7, 9), (200, 404)), [finding("DIFF", 7)], False),
        (compared((7,), (301, 403), R01), [finding("DIFF", 7)], True),
        (compared((7,), (200, 403), kind="access"), [finding("DIFF", 7)], True),
        (compared((7,), (403, 200), kind="access"), [finding("DIFF", 7)], False),
        (compared((7,), (401, 404)), [finding("DIFF", 7)], True),
        # a real server answers otherwise than the engine: no rule is about that
        (compared((7,), (200, 404), kind="httpd"), [finding("C13", 7)], False),
    ],
)
def test_a_difference_is_decided_by_the_rule_that_reports_it(
    result: VerifyResult, recorded: list[Finding], is_decided: bool
) -> None:
    mark_decided(result, recorded)
    assert result.verdict is (Verdict.SAME if is_decided else Verdict.DIFFERENT)
    ready = readiness_of_comparison(result)
    places = ", ".join({one.rule: f"{one.rule} at {one.place}" for one in recorded}.values())
    decided = f"ready for 2.4: yes: no answer differs, but for 1 difference decided in the text: {places}"
    assert (ready == decided) is is_decided, ready


@pytest.mark.parametrize(
    ("statuses", "message", "is_named"),
    [((401, 403), OF_COMMENT, True), ((401, 403), "m", False), ((200, 403), OF_COMMENT, False)],
    ids=["without-journal", "found", "loses-access"],
)
def test_a_comment_that_no_journal_explains_is_named_beside_what_it_leaves_open(
    statuses: tuple[int, int], message: str, is_named: bool
) -> None:
    kind = "access" if statuses[0] == 200 else "response"
    result = compared((7,), statuses, kind=kind)
    mark_decided(result, [replace(finding("C17", 7, Risk.CLOSES), message=message)])
    assert bool(result.groups[0].decided) is not is_named
    assert [(item.place, item.subject.partition(":")[0]) for item in result.scope.items] == (
        [(SourceLocation("/new.conf", 7), "ignore[C17]")] if is_named else []
    )


def test_one_cause_of_both_directions_needs_both() -> None:
    for risks, is_decided in (([Risk.OPENS], False), ([Risk.OPENS, Risk.CLOSES], True)):
        result = compared((7,), (403, 200), kind="access")
        result.groups[0].add(compared((7,), (200, 403)).groups[0].examples[0])
        mark_decided(result, [finding(f"X2{at}", 7, risk) for at, risk in enumerate(risks)])
        assert bool(result.groups[0].decided) is is_decided


def test_a_cause_of_both_directions_is_not_decided_by_diff() -> None:
    result = compared((7,), (200, 403), kind="access")
    result.groups[0].examples += compared((7,), (403, 200)).groups[0].examples
    mark_decided(result, [finding("DIFF", 7)])
    assert result.verdict is Verdict.DIFFERENT


def test_a_decided_loss_of_access_names_its_comment() -> None:
    """It stays in the table of who gains or loses access, behind what nobody has decided."""
    result = compared((7,), (200, 403), kind="access")
    result.groups += compared((9,), (200, 403), kind="access").groups
    mark_decided(result, [finding("C20", 7, Risk.CLOSES)])
    first, second = access_differences(result.groups)
    assert (first.place, second.place) == (SourceLocation("/new.conf", 9), SourceLocation("/new.conf", 7))
    assert "decided" not in first.client
    assert second.client.endswith(" (decided in the text: C20 at /new.conf:7)")


def test_a_comment_is_offered_where_it_decides() -> None:
    def is_offered(result: VerifyResult) -> bool:
        """Return what a report offers, which is what the comment decides."""
        offered = has_recordable_decisions(result)
        mark_decided(result, [finding("DIFF", 7)])
        assert offered == bool(result.groups[0].decided)
        return offered

    assert is_offered(compared((7,), (200, 404)))
    assert is_offered(compared((7,), (200, 403), kind="access"))
    assert not is_offered(compared((7,), (403, 200), kind="access"))
    assert not is_offered(compared((7,), (403, 500), kind="access"))
    assert not is_offered(compared((7,), (200, 404), kind="httpd"))
    of_one_version = compared((7,), (200, 404))
    of_one_version.dialects = ("2.4", "2.4")
    assert not has_recordable_decisions(of_one_version)


@pytest.mark.parametrize(
    ("roles", "wanted"),
    [
        ((DECIDES, "section"), [1]),
        (("section", DECIDES), [2]),
        ((DECIDES, DECIDES), [1, 2]),
        (("section", "access"), [1, 2]),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_the_lines_that_decide_need_a_comment(roles: tuple[str, str], wanted: list[int], side: int) -> None:
    """All lines of the cause where none of them decides."""
    lines = tuple(DecidingLine("f", number, role=role) for number, role in enumerate(roles, 1))
    others = (DecidingLine("g", 9, role=DECIDES),)
    rows = (others, lines) if side else (lines, others)
    assert [line.line for line in lines_to_mark(DifferenceGroup("access", Cause(*rows)), side)] == wanted


@pytest.mark.parametrize(
    ("item", "rule", "is_decided"),
    [
        (
            UnknownItem(UnknownKind.MISSING, SourceLocation("/new.conf", 7), "users are not here"),
            "DIFF",
            True,
        ),
        (
            UnknownItem(UnknownKind.MISSING, SourceLocation("/new.conf", 7), "users are not here"),
            "C17",
            False,
        ),
        (
            UnknownItem(UnknownKind.MISSING, SourceLocation("/new.conf", 8), "users are not here"),
            "DIFF",
            False,
        ),
        (UnknownItem(UnknownKind.ASSUMED, None, "of no line"), "DIFF", False),
        (UnknownItem(UnknownKind.WRITTEN, SourceLocation("/new.conf", 7), "by upgrade"), "DIFF", False),
        (UnknownItem(UnknownKind.MISSING, SourceLocation("/new.conf", 7), "x", is_old=True), "DIFF", False),
    ],
)
def test_a_fact_that_is_not_known_is_decided_at_its_line(
    item: UnknownItem, rule: str, is_decided: bool
) -> None:
    """The comment says that a person has looked at this line: of other texts and lines it says nothing."""
    result = VerifyResult(dialects=("2.2", "2.4"), scope=KnowledgeScope(items=(item,)))
    mark_decided(result, [finding(rule, 7)])
    assert result.scope.is_complete is is_decided
    ready = readiness_of_comparison(result)
    note = "yes: no answer differs, but for 1 unknown fact decided in the text: DIFF at /new.conf:7"
    assert ready.endswith(note) is is_decided
    assert result.verdict is (Verdict.SAME if is_decided else Verdict.NOT_DECIDED)


@pytest.mark.parametrize(
    ("places", "is_decided"),
    [
        (((), (("/new.conf", 7),)), True),
        (((("/new.conf", 7),), ()), False),  # the same number in the replaced text
        (((("/old.conf", 3),), (("/new.conf", 5), ("/new.conf", 7))), True),
        (((), ()), False),
    ],
)
def test_a_line_that_no_request_reaches_is_decided_where_the_new_text_has_its_place(
    places: tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]], is_decided: bool
) -> None:
    result = VerifyResult(dialects=("2.2", "2.4"), not_decided=[NotDecided("no request", places=places)])
    mark_decided(result, [finding("DIFF", 7)])
    assert bool(result.not_decided) is not is_decided
    assert result.decided_facts == (("DIFF at /new.conf:7",) if is_decided else ())


def test_what_comments_decide_without_a_difference_is_named_in_the_verdict() -> None:
    """2.4 refuses Digest without qop, whatever requests were asked: its comment decides about clients."""
    result = VerifyResult(dialects=("2.2", "2.4"), chains=1, probes=1)
    recorded = [finding("C11", 3), finding("C46", 9, Risk.CLOSES), finding("C46", 12, Risk.CLOSES)]
    mark_decided(result, [*recorded, finding("R13", 4, Risk.OPENS), finding("DIFF", 2)])
    ready = readiness_of_comparison(result)
    assert ready == (
        "ready for 2.4: yes: no answer differs; decided by comments: C46 at /new.conf:9 (loses access: m), "
        "R13 at /new.conf:4 (gains access: m); C11 at /new.conf:3"
    )
    sentence = access_sentence(result)
    assert "nobody" not in sentence and "C46 at /new.conf:9" in sentence and "R13 at" in sentence
    mark_decided(result, [finding("C11", 3)])
    assert access_sentence(result).startswith("access: nobody gains and nobody loses (")


def test_open_findings_about_access_are_named_where_no_request_shows_it() -> None:
    """2.4 refuses Digest without qop (apache2: 401); no request of the comparison has such a header."""
    result = VerifyResult(dialects=("2.2", "2.4"), chains=1, probes=1)
    result.open_access = ("C46 at a.conf:9 (loses access: m)",)
    sentence = access_sentence(result)
    assert "nobody" not in sentence
    assert sentence.endswith(", but to decide: C46 at a.conf:9 (loses access: m)")


def test_the_page_counts_what_comments_decide_apart() -> None:
    """It is no change to review; a side without lines is not shown as one that has "nothing"."""
    result = compared((7,), (200, 404))
    mark_decided(result, [finding("C13", 7)])
    page = verify_page(result)
    assert page.badge.text == "Same, but for what comments decide"
    counts = {card.name: card.count for card in page.cards}
    assert counts["decided by comments"] == 1 and counts["changes answers"] == 0
    assert [len(one.sides) for group in page.groups for one in group.items] == [1]
    assert page.sentence.count("decided in the text") == 0
    result.to_decide = "to decide: 1 finding at 1 place"
    assert verify_page(result).badge.text == "Not decided, beside differences that comments decide"


@pytest.mark.parametrize(
    ("weights", "targets", "expected"),
    [
        ((Weight.NAME, Weight.INVENTED), ("/.pl", "/a/.cgi"), "only for names that begin with a dot and are"),
        ((Weight.NAME, Weight.NAME), ("/.pl", "/none"), "only for names that are not here, such as /.pl"),
        ((Weight.NAME, Weight.DOCUMENT), ("/.pl", "/a.html"), ""),
    ],
)
def test_the_sentence_says_if_only_invented_names_differ(
    weights: tuple[Weight, ...], targets: tuple[str, ...], expected: str
) -> None:
    result = VerifyResult(dialects=("2.2", "2.4"))
    for weight, target in zip(weights, targets, strict=True):
        result.groups += compared((7,), (403, 404)).groups
        (example,) = result.groups[-1].examples
        result.groups[-1].examples = [replace(example, weight=weight, probe=Probe(target))]
    ready = readiness_of_comparison(result)
    assert (expected in ready) if expected else ("only for" not in ready)


def without_lines(*paths: str, statuses: tuple[int, int] = (403, 404)) -> VerifyResult:
    """Return a comparison with one cause without lines, of requests for *paths*."""
    result = compared((), statuses, "no line decides it")
    (group,) = result.groups
    example = group.examples.pop()
    group.count = 0
    for path in paths:
        group.add(replace(example, probe=Probe(path, host="a")))
    return result


def named(text: str, line: int = 1) -> Finding:
    """Return what `check` makes of a comment in the main file that names a request."""
    return Finding("DIFF", SourceLocation("/new.conf", line), f"{OF_REQUEST}{text}")


def test_a_difference_without_lines_is_decided_by_its_requests() -> None:
    """The report offers the comments that decide it; each covers the request that it names, with what
    differs there, and no other one."""
    result = without_lines("/.cgi", "/.pl")
    offered = result.groups[0].comments()
    assert offered == [
        "# whimbrel: ignore[DIFF GET http://a/.cgi: status 403 -> 404]",
        "# whimbrel: ignore[DIFF GET http://a/.pl: status 403 -> 404]",
    ]
    data = "".join(f"{line}\n" for line in offered).encode()
    assert not suppressions(data + b"Listen 81\n")  # they say nothing about the line below
    found = [named(text, line) for line, text in requests_in(data)]
    mark_decided(result, found)
    assert result.groups[0].decided == ("DIFF at /new.conf:1", "DIFF at /new.conf:2")
    assert readiness_of_comparison(result).startswith("ready for 2.4: yes: ")
    for others in (found[:1], [named("GET http://a/.cgi: status 403 -> 404")], []):
        result = without_lines("/.cgi", "/.pl")
        mark_decided(result, others)
        assert result.verdict is Verdict.DIFFERENT
    for other in (without_lines("/.cgi2"), without_lines("/.cgi", statuses=(403, 410))):
        mark_decided(other, found)
        assert other.verdict is Verdict.DIFFERENT


def test_no_comment_about_a_request_opens_access() -> None:
    result = without_lines("/a", statuses=(403, 200))
    assert not result.groups[0].comments()
    mark_decided(result, [named("GET http://a/a: status 403 -> 200")])
    assert result.verdict is Verdict.DIFFERENT
    result = without_lines(*(f"/{number}" for number in range(MAX_REQUESTS + 1)))
    assert not result.groups[0].comments()
