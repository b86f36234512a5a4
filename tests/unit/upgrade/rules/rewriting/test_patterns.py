"""What groups can match, beside Python's own expressions, which agree with PCRE on these."""

from __future__ import annotations

import re
from itertools import product

import pytest

from whimbrel.upgrade.rules.rewriting.patterns import can_match, group_text

PATTERNS = [
    "^(.*)$",
    "^([0-9]+)/(.+)$",
    "^([^/]+)/?$",
    "^([^/?]+)$",
    r"^(\w+)$",
    r"^(\S+)$",
    r"^(a\?b)$",
    "^(a?b)$",
    r"^([a-z ]+)$",
    r"^([^\s]+)$",
    "^(?:x|(y.))$",
    "^((a)(.))$",
    r"^([\w?]+)$",
    "^([]?]+)$",
    "^(a b)$",
    r"^(a\ b)$",
    r"^(\x20)$",
    "^([^a])$",
]
TEXTS = ["".join(letters) for size in (1, 2, 3) for letters in product("ab/? 1y", repeat=size)]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("char", ["?", " "])
def test_nothing_that_matches_is_missed(pattern: str, char: str) -> None:
    compiled = re.compile(pattern)
    for number in range(compiled.groups + 1):
        matched = any(char in (found[number] or "") for text in TEXTS if (found := compiled.search(text)))
        assert not matched or can_match(group_text(pattern, number), char)


@pytest.mark.parametrize(
    ("pattern", "char"),
    [
        ("[0-9]+", "?"),
        ("[^/?]+", "?"),
        (r"\w+", " "),
        (r"[^\s/]+", " "),
        ("a?b*", "?"),
        ("(?:x|y)+", "?"),
        (r"\d{2,4}", "?"),
    ],
)
def test_what_plainly_cannot(pattern: str, char: str) -> None:
    assert not can_match(pattern, char)


def test_groups_are_counted_by_their_brackets() -> None:
    assert [group_text(r"^/(?:a|(b))/([(]\)(c))$", number) for number in (1, 2, 3, 4)] == [
        "b",
        r"[(]\)(c)",
        "c",
        "",
    ]
    assert group_text("(?<name>a)(b)", 2) is None
