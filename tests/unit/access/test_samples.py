"""Witnesses of patterns."""

from __future__ import annotations

import re

import pytest

from whimbrel.access.samples import has_unknown_matches, regex_samples, wildcard_samples
from whimbrel.base.regex import compile_regex


@pytest.mark.parametrize(
    "pattern",
    [r"^\.ht", r"\.(html|txt)$", r"^/a/[^/]+/b", r"/x\d{3}(?:y|z)?$", "a|b", r"[^a-z]x", r"^\w+\s\S"],
)
def test_an_expression_is_found_in_its_samples(pattern: str) -> None:
    found = regex_samples(pattern)
    assert found
    assert all(re.search(pattern, text) for text in found)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[[:upper:]]x",
        r"(?<=q)z",
        r"^(a|b)\1$",
        r"(?>ab)c",
        r"[\x80-\xff]$",
        r"^\h",
        r"^(\w)(\w)\2\1$",
        r"^(x)\1?[[:upper:]]",
    ],
)
def test_what_pythons_re_reads_otherwise_has_samples(pattern: str) -> None:
    """Without a sample of each pattern no chain has its section. PCRE decides: it is what httpd asks."""
    found = regex_samples(pattern)
    assert found
    assert all(compile_regex(pattern).search(text) is not None for text in found)
    assert not has_unknown_matches(pattern)


def test_a_pattern_that_nothing_matches_is_not_unknown() -> None:
    assert regex_samples(r"-(?<=b)$") == []
    assert not has_unknown_matches(r"-(?<=b)$")
    assert not has_unknown_matches("(")  # httpd does not start with it


def test_a_pattern_without_a_known_text_is_unknown() -> None:
    assert regex_samples(r"^(?:(a)|b)(?(1)c|d)$") == []
    assert has_unknown_matches(r"^(?:(a)|b)(?(1)c|d)$")


def test_each_branch_has_a_sample() -> None:
    assert {text.rpartition(".")[2] for text in regex_samples(r"^a\.(html|txt)$")} == {"html", "txt"}


def test_what_cannot_be_read_has_no_samples() -> None:
    assert regex_samples("(") == []


@pytest.mark.parametrize(
    ("pattern", "by_segment"), [("*.html", False), ("/home/*/public_html", True), ("a?[bc]", False)]
)
def test_a_shell_pattern_has_samples(pattern: str, by_segment: bool) -> None:
    assert wildcard_samples(pattern, by_segment=by_segment)
