"""What every match of a pattern begins with, and who is asked."""

from __future__ import annotations

import random
import re

import pytest

from whimbrel.modules.mod_rewrite.prefilter import Prefilter, literal_prefix


@pytest.mark.parametrize(("pattern", "prefix"), [
    ("^/One/two$", "/one/two"), (r"^/a\.b(.*)$", "/a.b"), ("^/ab*c", "/a"), ("^/ab?", "/a"), ("^/ab{2}", "/a"), ("^/ab+", "/ab"), ("^/a|^/b", ""),
    ("^/(a|b)/c", "/"), ("/a", ""), ("^", ""), (r"^/\d", "/"), ("^/a[|]b", "/a"), ("^/a\xe9", "/a"), (r"^/a\|b", "/a|b"),
])
def test_prefixes(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix


def test_no_rule_that_matches_is_left_out() -> None:
    choose = random.Random(7)
    patterns = ["^" + "".join(choose.choice(["/", "a", "b", r"\.", "a?", "b*", "(a|b)", "[ab]", "a+", "|^b"]) for _ in range(choose.randint(1, 6)))
                for _ in range(200)]
    asked = Prefilter([literal_prefix(p) for p in patterns])
    for _ in range(300):
        text = "".join(choose.choice("/ab.") for _ in range(choose.randint(0, 7)))
        candidates = set(asked.candidates(text))
        assert {i for i, p in enumerate(patterns) if re.search(p, text)} <= candidates


def test_long_lists_ask_few() -> None:
    asked = Prefilter([f"/old/{i}/" for i in range(1000)] + [""])
    assert list(asked.candidates("/old/77/x")) == [77, 1000]
    assert list(asked.candidates("/new")) == [1000]
