"""Splitting of a mod_rewrite line into arguments; errors are recorded ones."""

from __future__ import annotations

import pytest

from whimbrel.modules.mappers.mod_rewrite.args import split_flags, split_line


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a b", ("a", "b", "")),
        ("a b [L]", ("a", "b", "[L]")),
        ('"a b" \'c "d\' [L] more', ("a b", 'c "d', "[L]")),
        (r"a\ b c", (r"a\ b", "c", "")),
        ("a b [L, R]", ("a", "b", "[L,")),
        (r'"a\"b" c', ("a\\", 'b"', "c")),
        (r"'a\ b\' c", ("a\\ b\\", "c", "")),
        (r"a\\ b c", (r"a\\ b", "c", "")),
    ],
)
def test_arguments(text: str, parts: tuple[str, str, str]) -> None:
    assert split_line(text) == parts


@pytest.mark.parametrize("text", ["", "a", "  a  "])
def test_too_few(text: str) -> None:
    assert split_line(text) is None


def test_flags() -> None:
    assert split_flags("[R=301,L, NC ]") == [("R", "301"), ("L", ""), ("NC", "")]
    assert split_flags("[]") == [("", "")]
    assert [split_flags(text) for text in ("[L", "L]", "c", "[")] == [None] * 4
