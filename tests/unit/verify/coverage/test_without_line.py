"""A text without one of its lines."""

from __future__ import annotations

from pathlib import Path

from tests.unit.verify.sites import make_root, side

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.coverage.without_line import MAX_LOADED, WithoutLine, without_line
from whimbrel.verify.probe import Probe


def test_the_line_and_its_continuation_become_empty() -> None:
    text = b"a\nb \\\n c\nd\n"
    assert without_line(text, 2) == b"a\n\n\nd\n"
    assert without_line(text, 1) == b"\nb \\\n c\nd\n"
    assert without_line(text, 9) == text
    assert without_line(text, 2, b"B") == b"a\nB\n\nd\n"


def test_the_budget_ends_the_search(tmp_path: Path) -> None:
    make_root(tmp_path)
    one = side(tmp_path, "one", "Header set X-A 1", "2.4")
    line = next(line for line in SideLines(one).main.lines if line.name == "header")
    probe = Probe("/", host="localhost", port=8080)
    exchanges = [(probe, one.answer(probe))]
    assert WithoutLine(one).is_exercised(line, 10, exchanges)
    assert not WithoutLine(one).is_exercised(line, MAX_LOADED + 1, exchanges)


def test_another_line_in_its_place_shows_the_change_of_a_word(tmp_path: Path) -> None:
    """Without the line the field is missing; with `add` in place of `set` answers are the same."""
    make_root(tmp_path)
    one = side(tmp_path, "one", "Header set X-A 1", "2.4")
    lines = {
        text: next(line for line in SideLines(other).main.lines if line.name == "header")
        for text in ("Header add X-A 1", "Header set X-A 2")
        for other in [side(tmp_path, "other", text, "2.4")]
    }
    line = next(line for line in SideLines(one).main.lines if line.name == "header")
    probe = Probe("/", host="localhost", port=8080)
    exchanges = [(probe, one.answer(probe))]
    assert not WithoutLine(one).is_exercised(line, 10, exchanges, lines["Header add X-A 1"])
    assert WithoutLine(one).is_exercised(line, 10, exchanges, lines["Header set X-A 2"])


def test_a_line_that_the_version_refuses_is_tested_by_its_removal(tmp_path: Path) -> None:
    make_root(tmp_path)
    one = side(tmp_path, "one", "Header set X-A 1", "2.4")
    line = next(line for line in SideLines(one).main.lines if line.name == "header")
    refused = replace(line, args="set X-A 1 nonsense=1")
    probe = Probe("/", host="localhost", port=8080)
    assert WithoutLine(one).is_exercised(line, 10, [(probe, one.answer(probe))], refused)
