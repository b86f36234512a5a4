"""Literal prefixes of patterns, and the selected rules."""

from __future__ import annotations

import random
import re

import pytest

from whimbrel.modules.mappers.mod_rewrite.prefilter import Prefilter, literal_inside, literal_prefix


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("^/One/two$", "/one/two"),
        (r"^/a\.b(.*)$", "/a.b"),
        ("^/ab*c", "/a"),
        ("^/ab?", "/a"),
        ("^/ab{2}", "/a"),
        ("^/ab+", "/ab"),
        ("^/a|^/b", ""),
        ("^/(a|b)/c", "/"),
        ("/a", ""),
        ("^", ""),
        (r"^/\d", "/"),
        ("^/a[|]b", "/a"),
        ("^/a\xe9", "/a"),
        (r"^/a\|b", "/a|b"),
    ],
)
def test_prefixes(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix


@pytest.mark.parametrize(
    ("pattern", "inside"),
    [
        (r"/Ol(\d+)\.php$", ".php"),
        ("abc?de", "ab"),
        ("abc+d", "abc"),
        ("(a|b)cd", "cd"),
        ("a|b", ""),
        ("[abc]x", "x"),
        (r"\d+", ""),
        (r"\x41bc", ""),
        ("(?i)abc", ""),
        (r"a\Qb\E", ""),
        ("ab{2,3}c", "a"),
        ("(abc)d", "d"),
        ("((x)abc)*", ""),
        (r"a[\]b]cde", "cde"),
        ("a\\/bc", "a/bc"),
        ("(?:long)?b", "b"),
        ("", ""),
    ],
)
def test_texts_inside(pattern: str, inside: str) -> None:
    assert literal_inside(pattern) == inside


def test_no_rule_that_matches_is_left_out() -> None:
    choose = random.Random(7)
    parts = ["/", "a", "b", r"\.", "a?", "b*", "(a|b)", "[ab]", "a+", "|^b"]
    patterns = [
        choose.choice(["^", ""]) + "".join(choose.choice(parts) for _ in range(choose.randint(1, 6)))
        for _ in range(200)
    ]
    asked = Prefilter([literal_prefix(p) for p in patterns], [literal_inside(p) for p in patterns])
    for _ in range(300):
        text = "".join(choose.choice("/ab.") for _ in range(choose.randint(0, 7)))
        candidates = set(asked.candidates(text))
        assert {i for i, p in enumerate(patterns) if re.search(p, text)} <= candidates


def test_long_lists_ask_few() -> None:
    asked = Prefilter([f"/old/{i}/" for i in range(1000)] + ["", ""], [""] * 1001 + ["x"])
    assert list(asked.candidates("/old/77/x")) == [77, 1000, 1001]
    assert list(asked.candidates("/new")) == [1000]
