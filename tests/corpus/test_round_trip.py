"""Whole configurations, byte for byte: every file comes back from the tree as it was."""

from __future__ import annotations

import pytest

from tests.corpus.configurations import files
from whimbrel.cli.fmt import spelled
from whimbrel.syntax.format import formatted
from whimbrel.syntax.lines import V22_LINES, V24_LINES, LineRules
from whimbrel.syntax.tree import parse

LEAST = 30


@pytest.mark.parametrize("rules", [V22_LINES, V24_LINES], ids=["2.2", "2.4"])
def test_every_file_comes_back(rules: LineRules) -> None:
    assert len(files()) > LEAST
    for path in files():
        data = path.read_bytes()
        document = parse(data, rules)
        ranges = list(document.ranges())
        assert [start for start, _ in ranges] == [0, *(end for _, end in ranges)][: len(ranges)], path
        assert b"".join(data[start:end] for start, end in ranges) == data, path


def test_every_file_can_be_formatted() -> None:
    """`formatted` raises where the result would say something else; a second time changes nothing."""
    for path in files():
        once = formatted(path.read_bytes(), spelled)
        assert formatted(once, spelled) == once, path
