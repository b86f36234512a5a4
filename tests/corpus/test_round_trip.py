"""Real configurations, byte for byte: every file of the corpus comes back from the tree as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.cli.fmt import spelled
from whimbrel.syntax.format import formatted
from whimbrel.syntax.lines import V22_LINES, V24_LINES, LineRules
from whimbrel.syntax.tree import parse

SHARED = Path(os.environ.get("WHIMBREL_SHARED") or Path(__file__).parents[3] / "shared")
FOLDERS = [SHARED / "corpus" / name for name in ("files", "trees", "rewrite")]
needs_corpus = pytest.mark.skipif(not all(map(Path.is_dir, FOLDERS)), reason=f"no corpus under {SHARED.name}/ (set WHIMBREL_SHARED)")


def corpus() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in folder.rglob("*") if path.is_file())


@needs_corpus
@pytest.mark.parametrize("rules", [V22_LINES, V24_LINES], ids=["2.2", "2.4"])
def test_every_file_comes_back(rules: LineRules) -> None:
    files = corpus()
    assert len(files) > 100
    for path in files:
        data = path.read_bytes()
        document = parse(data, rules)
        ranges = list(document.ranges())
        assert [start for start, _ in ranges] == [0, *(end for _, end in ranges)][:len(ranges)], path
        assert b"".join(data[start:end] for start, end in ranges) == data, path


@needs_corpus
def test_every_file_can_be_formatted() -> None:
    """`formatted` raises where the result would say something else; a second time changes nothing."""
    for path in corpus():
        once = formatted(path.read_bytes(), spelled)
        assert formatted(once, spelled) == once, path
