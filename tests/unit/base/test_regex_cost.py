"""Bounds of steps: they hold for the matcher that they bound, and patterns without a proof have none."""

from __future__ import annotations

import re
import time

import pytest

from whimbrel.base.regex_cost import Polynomial, search_cost

FLAGS = re.ASCII | re.DOTALL


@pytest.mark.parametrize(
    ("pattern", "degree"),
    [
        (r"^/foo/(.*)\Z", 1),
        (r"^/([^/]+)/([^/]+)/([^/]+)/?\Z", 1),
        (r"\.(gif|jpe?g|png)\Z", 1),
        ("^(.*)/x", 1),
        ("^(.*)/(.*)/x", 2),
        ("a+b", 2),
        ("^a.b", 0),
        (r"^[a-z]+?\d", 1),
        (r"^[a-z]+?z", 1),
        ("^(?:a|b)x", 0),
        ("^(?:^a|^b)", 0),
        (r"^(a{1,3}){2}\d*", 1),
    ],
)
def test_the_degree_of_a_search(pattern: str, degree: int) -> None:
    bound = search_cost(pattern, FLAGS)
    assert bound is not None and bound[0].degree == degree


@pytest.mark.parametrize(
    "pattern",
    [
        "^(([a-z])+.)+x",
        "(a|aa)*",
        "(?:a?)*b",
        r"(a)\1",
        "(?=a)b",
        "(?:ab)+",
        "(?>a+)b",
        "(a)?(?(1)b|c)",
        "((a{0,9}){0,99}){0,99}b",
        "(?i:a)b",
    ],
)
def test_what_is_not_proven_has_no_bound(pattern: str) -> None:
    assert search_cost(pattern, FLAGS) is None


@pytest.mark.parametrize(
    ("pattern", "anchored"),
    [
        ("^a", True),
        ("(?:^a|^b)", True),
        ("(^a|b)", False),
        ("a^", False),
        ("(?:(^a))", True),
        ("", False),
    ],
)
def test_an_anchor_is_found(pattern: str, anchored: bool) -> None:
    bound = search_cost(pattern, FLAGS)
    assert bound is not None and bound[1] is anchored


def test_letters_of_both_cases_overlap_where_case_is_ignored() -> None:
    exact, folded = search_cost("^a*A", FLAGS), search_cost("^a*Ax*y", FLAGS | re.IGNORECASE)
    assert exact is not None and exact[0].degree == 1
    assert folded is not None and folded[0].degree == 2


@pytest.mark.parametrize(
    ("pattern", "unit"),
    [
        (r"^[a-z]*[a-z]*\d", "a"),
        (r"[a-z]+\d", "a"),
        (r"(.*)/([^/]*)x\Z", "/"),
        ("a?a?a?a?a?a?a?b", "a"),
        ("(?:a|b|ab){1,6}c", "ab"),
        (".*?.*?x", "y"),
    ],
)
def test_a_bounded_search_ends_in_time(pattern: str, unit: str) -> None:
    """A hundred thousand steps are about a millisecond; 50 leave room for a busy machine."""
    bound = search_cost(pattern, FLAGS)
    assert bound is not None
    subject = unit * (min(bound[0].longest(100_000), 8190) // len(unit))
    compiled = re.compile(pattern, FLAGS)
    start = time.process_time()
    compiled.search(subject)
    assert time.process_time() - start < 0.05


def test_a_length_is_the_greatest_within_the_steps() -> None:
    assert [Polynomial(10, d).longest(1000) for d in (0, 1, 2)] == [1 << 20, 100, 10]
    assert [Polynomial(10, d).longest(9) for d in (0, 1, 2)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("factor", "degree", "steps", "length"),
    [
        (5, 0, 5, 1 << 20),
        (5, 0, 4, 0),
        (2, 1, 10, 5),
        (2, 1, 2, 1),
        (2, 1, 1, 0),
        (1, 2, 99, 9),
        (1, 1, 1 << 30, 1 << 20),
    ],
)
def test_the_greatest_length_of_a_number_of_steps(factor: int, degree: int, steps: int, length: int) -> None:
    """The value of the polynomial there is at most *steps*, and more for the next length."""
    found = Polynomial(factor, degree).longest(steps)
    assert found == length
    assert found == 1 << 20 or factor * (found + 1) ** degree > steps
