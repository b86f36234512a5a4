"""What `upgrade` says about its comparison: the sentence, and the findings about differences."""

from __future__ import annotations

from unittest.mock import create_autospec

import pytest
from tests.unit.report.verification.results import example

from whimbrel.upgrade.model import Risk
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.derive.probes import ProbeSource
from whimbrel.verify.upgraded import _difference, _is_of_access, _sentence
from whimbrel.verify.verification import DifferenceGroup, NotDecided, VerifyResult
from whimbrel.verify.verify import Comparison

BEGIN = "verified with 7 requests and 3 chains of sections"


@pytest.mark.parametrize(
    ("is_cut", "limits", "undecided", "counts", "words"),
    [
        (False, [], 0, (0, 0), ": no answer contradicts a safe change"),
        (False, [], 0, (1, 0), ": 1 change with other answers than those of 2.2 needs review"),
        (False, [], 0, (2, 0), ": 2 changes with other answers than those of 2.2 need review"),
        (False, [], 0, (0, 1), ": no answer contradicts a safe change; 1 difference is about access"),
        (
            False,
            [],
            0,
            (2, 2),
            ": 2 changes with other answers than those of 2.2 need review; 2 differences are about access",
        ),
        (
            True,
            [],
            0,
            (0, 0),
            " (not every request that can be derived was asked): no answer contradicts a safe change",
        ),
        (True, ["stopped"], 0, (0, 0), " (stopped): no answer contradicts a safe change"),
        (
            False,
            ["stopped"],
            2,
            (0, 0),
            " (stopped; 2 lines or chains that no request decided): no answer contradicts a safe change",
        ),
    ],
)
def test_the_sentence(
    is_cut: bool, limits: list[str], undecided: int, counts: tuple[int, int], words: str
) -> None:
    comparison = create_autospec(Comparison, instance=True)
    comparison.source = create_autospec(ProbeSource, instance=True)
    comparison.source.is_cut = is_cut
    comparison.result = VerifyResult(probes=7, chains=3, limits=limits)
    comparison.result.not_decided = [NotDecided("a reason")] * undecided
    assert _sentence(comparison, *counts) == BEGIN + words


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_difference_stands_at_a_line_of_the_old_side_if_there_is_one(count: int) -> None:
    """Old lines of the cause, lines that decided, then new ones; at none of them without any."""
    lines = [(DecidingLine(f"/{number}", number),) for number in (1, 2, 3)]
    old, decided, new = (line if number + 1 >= count else () for number, line in enumerate(lines))
    opening = example("/", Answer(403), Answer(200), ("status", "403", "200"))
    group = DifferenceGroup("access", Cause(old, new), [opening], 1, (decided, ()))
    finding = _difference(group)
    assert (finding.place.path, finding.place.line, finding.risk) == (f"/{count}", count, Risk.OPENS)
    assert "status: 403 -> 200" in finding.message
    nowhere = _difference(DifferenceGroup("access", Cause((), ()), [opening]))
    assert (nowhere.place.path, nowhere.place.line) == ("", 0)


@pytest.mark.parametrize(
    ("kind", "statuses", "is_access"),
    [
        ("access", (200, 200), True),
        ("response", (200, 403), True),
        ("response", (403, 200), True),
        ("response", (200, 404), False),
    ],
)
def test_differences_of_access(kind: str, statuses: tuple[int, int], is_access: bool) -> None:
    one = example("/", *map(Answer, statuses))
    assert _is_of_access(DifferenceGroup(kind, Cause((), ()), [one])) is is_access
    assert not _is_of_access(DifferenceGroup(kind, Cause((), ())))
