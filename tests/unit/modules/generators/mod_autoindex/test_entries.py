"""Order and patterns of listings."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.fnmatch import simple_match
from whimbrel.modules.generators.mod_autoindex.entries import html_title, natural


@pytest.mark.parametrize(
    ("a", "b", "sign"),
    [
        ("v1.9", "v1.10", -1),
        ("v1.2", "v1.9", -1),
        ("a", "b", -1),
        ("a1", "a1", 0),
        ("a01", "a1", -1),
        ("a", "a1", -1),
        ("A", "a", -1),
        ("\xe9.txt", "a.txt", -1),
        ("f10", "f9", 1),
        ("a10b2", "a10b10", -1),
        ("a 1", "a1", 0),
        ("a007", "a12", -1),
        ("a-", "a1", -1),
        ("a\xe9", "a", -1),
        ("a1", "ab", -1),
        ("a010", "a01", 1),
    ],
)
def test_natural(a: str, b: str, sign: int) -> None:
    """Runs of digits as numbers, other bytes as signed characters: the order of VersionSort in 2.4.71 and
    2.2.34.
    """
    x, y = natural(a, False), natural(b, False)
    assert (x > y) - (x < y) == sign


def test_natural_without_case() -> None:
    assert natural("Beta", True) > natural("alpha", True)
    assert natural("BAK", True) == natural("bak", True)


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("a.txt", "*.txt", True),
        ("a.txt", "?.txt", True),
        ("/x/a.txt", "*.txt", True),
        ("a.txt", "a.tx", False),
        ("a[b]", "a[b]", True),
        ("ab", "a[b]*", False),
    ],
)
def test_simple_match(text: str, pattern: str, matches: bool) -> None:
    """Only ``*`` and ``?`` are special (manual, mod_autoindex, AddIcon)."""
    assert simple_match(text, pattern) is matches


def test_title(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    page.write_text("<html><TITLE>\nA\nb<i></TITLE>", encoding="latin-1")
    assert html_title(str(page)) == "A b"
    page.write_text("none", encoding="latin-1")
    assert html_title(str(page)) is None
    assert html_title(str(tmp_path / "missing")) is None
