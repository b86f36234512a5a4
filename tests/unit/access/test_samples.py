"""Witnesses of patterns."""

from __future__ import annotations

import re

import pytest

from whimbrel.access.samples import regex_samples, wildcard_samples


@pytest.mark.parametrize(
    "pattern",
    [r"^\.ht", r"\.(html|txt)$", r"^/a/[^/]+/b", r"/x\d{3}(?:y|z)?$", "a|b", r"[^a-z]x", r"^\w+\s\S"],
)
def test_an_expression_is_found_in_its_samples(pattern: str) -> None:
    found = regex_samples(pattern)
    assert found
    assert all(re.search(pattern, text) for text in found)


def test_each_branch_has_a_sample() -> None:
    assert {text.rpartition(".")[2] for text in regex_samples(r"^a\.(html|txt)$")} == {"html", "txt"}


def test_what_cannot_be_read_has_no_samples() -> None:
    assert regex_samples("(") == []


@pytest.mark.parametrize(
    ("pattern", "by_segment"), [("*.html", False), ("/home/*/public_html", True), ("a?[bc]", False)]
)
def test_a_shell_pattern_has_samples(pattern: str, by_segment: bool) -> None:
    assert wildcard_samples(pattern, by_segment=by_segment)
