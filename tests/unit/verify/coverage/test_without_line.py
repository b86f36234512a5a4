"""A text without one of its lines."""

from __future__ import annotations

from pathlib import Path

from tests.unit.verify.sites import make_root, side

from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.coverage.without_line import MAX_LOADED, WithoutLine, without_line
from whimbrel.verify.probe import Probe


def test_the_line_and_its_continuation_become_empty() -> None:
    text = b"a\nb \\\n c\nd\n"
    assert without_line(text, 2) == b"a\n\n\nd\n"
    assert without_line(text, 1) == b"\nb \\\n c\nd\n"
    assert without_line(text, 9) == text


def test_the_budget_ends_the_search(tmp_path: Path) -> None:
    make_root(tmp_path)
    one = side(tmp_path, "one", "Header set X-A 1", "2.4")
    line = next(line for line in SideLines(one).main.lines if line.name == "header")
    probe = Probe("/", host="localhost", port=8080)
    exchanges = [(probe, one.answer(probe))]
    assert WithoutLine(one).is_exercised(line, 10, exchanges)
    assert not WithoutLine(one).is_exercised(line, MAX_LOADED + 1, exchanges)
