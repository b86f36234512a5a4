"""The examples that a group of differences keeps."""

from __future__ import annotations

import json

import pytest

from whimbrel.api.verdicts import Difference as PublicDifference
from whimbrel.api.verdicts import Verdict as PublicVerdict
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.readiness import readiness_of_comparison
from whimbrel.report.verification.entries import summary
from whimbrel.report.verification.json import render
from whimbrel.upgrade.knowledge.start_stops import StartStops
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import (
    MAX_EXAMPLES,
    DifferenceGroup,
    Example,
    NotDecided,
    Verdict,
    VerifyResult,
    access_sentence,
)
from whimbrel.verify.weights import Weight


def example(old: int, new: int, name: str = "status") -> Example:
    part = FieldDifference(name, str(old), str(new))
    return Example(Probe(f"/{old}-{new}-{name}"), Difference((part,)), Answer(old), Answer(new))


def group_of(*examples: Example) -> DifferenceGroup:
    group = DifferenceGroup("response", Cause((), ()))
    for one in examples:
        group.add(one)
    return group


def test_the_first_examples_are_kept() -> None:
    group = group_of(*(example(200, 404) for _ in range(9)))
    assert (group.count, len(group.examples)) == (9, MAX_EXAMPLES)
    assert not group.opens and not group.closes


def test_an_example_that_opens_or_closes_is_kept_however_late() -> None:
    """Also behind the examples whose differences are in other parts."""
    many = [example(200, 200, f"x-{number}") for number in range(20)]
    group = group_of(*many, example(403, 200), example(200, 403), *many)
    assert group.opens and group.closes
    assert len(group.examples) <= 2 * MAX_EXAMPLES


def test_the_first_one_of_each_kind_of_difference_is_kept() -> None:
    group = group_of(*(example(200, 404) for _ in range(9)), example(200, 200, "etag"))
    assert [one.difference.names for one in group.examples][-1] == ("etag",)


def weighed(old: int, new: int, weight: Weight) -> Example:
    return replace(example(old, new), weight=weight)


@pytest.mark.parametrize(
    ("first", "late", "is_kept"),
    [
        ((200, 404, Weight.NAME), (200, 404, Weight.DOCUMENT), True),
        ((200, 404, Weight.NAME), (200, 404, Weight.NAME), False),
        ((200, 404, Weight.DOCUMENT), (200, 404, Weight.NAME), False),
        ((403, 200, Weight.NAME), (200, 404, Weight.DOCUMENT), False),  # what opens stays
        ((403, 200, Weight.NAME), (403, 200, Weight.DOCUMENT), True),
    ],
)
def test_a_late_example_of_more_weight_takes_the_place_of_another(
    first: tuple[int, int, Weight], late: tuple[int, int, Weight], is_kept: bool
) -> None:
    group = group_of(*(weighed(*first) for _ in range(MAX_EXAMPLES)))
    one = weighed(*late)
    group.add(one)
    assert any(kept is one for kept in group.examples) is is_kept
    assert len(group.examples) == MAX_EXAMPLES and group.count == MAX_EXAMPLES + 1


ADMITS = (200, 204, 206, 301, 302, 304)
REFUSES = (401, 403)
OTHER = (400, 404, 405, 500, 503)


@pytest.mark.parametrize("old", (*ADMITS, *REFUSES, *OTHER))
@pytest.mark.parametrize("new", (*ADMITS, *REFUSES, *OTHER))
def test_what_opens_and_what_closes(old: int, new: int) -> None:
    """A refusal is 401 or 403; of the new side also the 500 of a line that does not work."""
    one = example(old, new)
    assert one.opens is (old in REFUSES and new in ADMITS)
    assert one.closes is (old in ADMITS and new in (*REFUSES, 500))


def test_results_of_access_control_count_before_statuses() -> None:
    one = example(404, 404)
    one.access = (403, 200)
    assert one.opens and not one.closes
    one.access = (200, 401)
    assert one.closes and not one.opens


def test_each_end_of_a_verification_has_its_exit_code() -> None:
    assert {verdict.name: verdict.value for verdict in Verdict} == {
        "SAME": 0,
        "DIFFERENT": 1,
        "DOES_NOT_LOAD": 2,
        "NOT_DECIDED": 3,
    }


def test_what_a_rule_calls_cosmetic_is_the_same_to_a_reader() -> None:
    """The exit code, the verdict and the sentence about going live agree."""
    cosmetic = DifferenceGroup("response", Cause((), ()), rule="C30", count=7)
    other = DifferenceGroup("response", Cause((), ()))
    result = VerifyResult(groups=[cosmetic], dialects=("2.2", "2.4"))
    assert (result.verdict, result.verdict.value) == (Verdict.SAME, 0)
    assert summary(result)[0].endswith("same, but for what is named below")
    ready = readiness_of_comparison(result)
    assert ready.startswith("ready for 2.4: yes") and ready.endswith("but for 7 cosmetic differences (C30)")
    assert '"verdict": "same"' in render(result)
    result.not_decided.append(NotDecided("x"))
    assert result.verdict is Verdict.NOT_DECIDED
    assert VerifyResult(groups=[other, cosmetic]).verdict is Verdict.DIFFERENT
    assert PublicVerdict((public("cosmetic"),), (), 1, ()).is_same
    assert not PublicVerdict((public("cosmetic"), public("changes answers")), (), 1, ()).is_same


def public(risk: str) -> PublicDifference:
    return PublicDifference("response", risk, 1, "GET /", "vary", (), ())


@pytest.mark.parametrize(
    ("dialects", "is_stopped_alike", "verdict"),
    [
        (("2.2", "2.4"), False, Verdict.NOT_DECIDED),
        (("2.4", "2.4"), False, Verdict.NOT_DECIDED),
        (("2.4", "2.4"), True, Verdict.SAME),  # both end their start at a line of their own
    ],
)
def test_a_server_that_does_not_start_here_is_not_the_same(
    dialects: tuple[str, str], is_stopped_alike: bool, verdict: Verdict
) -> None:
    stops = StartStops((), ((SourceLocation("/a", 1), "x"),))
    result = VerifyResult(dialects=dialects, start_stops=stops, is_stopped_alike=is_stopped_alike)
    assert result.verdict is verdict
    stated = json.loads(render(result))
    reasons = [] if verdict is Verdict.SAME else ["new does not start here: /a:1: x"]
    assert [one["reason"] for one in stated["not_decided"]] == reasons
    assert summary(result)[0].endswith(": same" if not reasons else ": not decided, though no answer differs")


@pytest.mark.parametrize(
    ("name", "is_of_handshake"),
    [("value of sslverifyclient", True), ("value of sslprotocol", True), ("value of maxranges", False)],
)
def test_a_handshake_that_other_clients_complete(name: str, is_of_handshake: bool) -> None:
    """apache2 ends the handshake of a client that SSLVerifyClient refuses; no request of it has a status."""
    result = VerifyResult(("old", "new"), ((), ()), [group_of(example(200, 200, name))], chains=1, probes=9)
    sentence = access_sentence(result)
    assert ("after the TLS handshake, which other clients complete" in sentence) is is_of_handshake
