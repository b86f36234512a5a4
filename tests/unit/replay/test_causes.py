"""Causes of changed answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.replay.answers import FastAnswer
from whimbrel.replay.causes import ChangeCauses
from whimbrel.verify.probe import Probe


@pytest.mark.parametrize(("lines", "is_change"), [("", False), ("Header set X-A 1", True)])
def test_answers_that_differ_in_nothing_that_counts_are_no_change(
    tmp_path: Path, lines: str, is_change: bool
) -> None:
    """The first comparison is by bytes; what differs by nature, such as Date, is found by the second."""
    make_root(tmp_path)
    causes = ChangeCauses(side(tmp_path, "old", "", "2.4"), side(tmp_path, "new", lines, "2.4"))
    answers = (FastAnswer(200, (word, b""), ()) for word in (b"HTTP/1.1 200 OK a", b"HTTP/1.1 200 OK b"))
    change = causes.change(Probe("/", host="localhost"), *answers)
    assert (change is not None) is is_change
