"""Comparison of patterns: known pairs, subjects, constructs that are not regular, and bounds."""

from __future__ import annotations

import time

import pytest

from whimbrel.access.patterns import automaton
from whimbrel.verify.patterns import languages
from whimbrel.verify.patterns.languages import Pattern, Relation, Subjects, compare_patterns
from whimbrel.verify.patterns.subjects import subjects_of


@pytest.mark.parametrize(
    ("first", "second", "shortest"),
    [
        (Pattern("^foo"), Pattern("foo"), (None, 4)),
        (Pattern("\\.php$"), Pattern(".php$"), (None, 4)),
        (Pattern("^a{2,3}$"), Pattern("^a{2,4}$"), (None, 4)),
        (Pattern("foo", ignore_case=True), Pattern("foo"), (3, None)),
        (Pattern("^(?!admin/).*x"), Pattern("^(?!admin).*x"), (6, None)),
        (Pattern("\\bfoo\\b"), Pattern("foo"), (None, 4)),
        (Pattern("^foo$", version22=True), Pattern("^foo$"), (4, None)),
        (Pattern("^a.b$", version22=True), Pattern("^a.b$"), (4, 3)),
        (Pattern("a", is_negated=True), Pattern("a"), (0, 1)),
        (Pattern("(?<!a)b"), Pattern("b"), (None, 2)),
        (Pattern("[[:upper:]]", ignore_case=True), Pattern("[A-Z]"), (1, None)),
        (Pattern("^(?i)ab$"), Pattern("^(?i:a)b$"), (2, None)),
    ],
)
def test_different_languages(
    first: Pattern, second: Pattern, shortest: tuple[int | None, int | None]
) -> None:
    found = compare_patterns(first, second)
    assert found.relation is Relation.DIFFERENT
    lengths = [len(texts[0]) if texts else None for texts in (found.first_only, found.second_only)]
    assert tuple(lengths) == shortest
    mirrored = compare_patterns(second, first)
    assert (mirrored.first_only, mirrored.second_only) == (found.second_only, found.first_only)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Pattern("a{2,3}"), Pattern("a{2,4}")),
        (Pattern("(x+x+)+y"), Pattern("xx+y")),
        (Pattern("(a|b|ab)*(c|bcd)(d*)"), Pattern("[ab]*(c|bcd)d*")),
        (Pattern("foo", is_negated=True), Pattern("^(?!.*foo)")),
        (Pattern("(?<!a)b"), Pattern("(^|[^a])b")),
        (Pattern("\\bfoo"), Pattern("(?:^|\\W)foo")),
        (Pattern(".*?x"), Pattern("x")),
        (Pattern("^a$", version22=True), Pattern("^a\\n?\\z")),
        (Pattern("[^\\W\\d_]"), Pattern("[[:alpha:]]")),
        (Pattern("^(?=.*a)(?=.*b)"), Pattern("a.*b|b.*a")),
    ],
)
def test_equal_languages(first: Pattern, second: Pattern) -> None:
    assert compare_patterns(first, second).relation is Relation.EQUAL
    assert compare_patterns(second, first).relation is Relation.EQUAL


def test_identical_patterns_capture_the_same_texts() -> None:
    assert compare_patterns(Pattern("^(\\d+)\\."), Pattern("^([0-9]+)[.]")).is_identical
    assert not compare_patterns(Pattern("^(a*)(a*)$"), Pattern("^(a*?)(a*)$")).is_identical
    assert not compare_patterns(Pattern("^(a)b"), Pattern("^a(b)")).is_identical


def test_back_references_are_compared_by_samples() -> None:
    found = compare_patterns(Pattern("^(.)-\\1$"), Pattern("^(.)-.$"))
    assert found.relation is Relation.DIFFERENT and not found.first_only
    same = compare_patterns(Pattern("^(.)-\\1$"), Pattern("^(?:(.)-\\1)$"))
    assert same.relation is Relation.NOT_DECIDED and same.reason == "a back reference"


@pytest.mark.parametrize(
    "text", ["^(?>a+)b", "^a++b", "(?|a|b)", "^(a(?1)?b)$", "\\Ka", "(*COMMIT)a", "\\pL"]
)
def test_other_constructs_are_not_decided(text: str) -> None:
    found = compare_patterns(Pattern(text), Pattern(f"{text}|(?!)"))
    assert found.relation is not Relation.EQUAL and not found.samples


def test_subjects_restrict_the_texts() -> None:
    first, second = Pattern("^/old"), Pattern("^/+old")
    assert compare_patterns(first, second).second_only[0] == "//old"
    url = subjects_of("url", (), is_mixed=False)
    assert compare_patterns(first, second, url).relation is Relation.EQUAL
    found = compare_patterns(Pattern("^1"), Pattern("^(?:1|x)"), Subjects("^[0-9]*\\z"))
    assert found.relation is Relation.EQUAL


@pytest.mark.parametrize(
    ("subject", "text", "is_possible"),
    [
        ("request_uri", "/a/../b", False),
        ("request_uri", "/a/..b", True),
        ("file", "a/b", False),
        ("http_host", "a b", False),
        ("http_host", "a.b-c", True),
        ("time_hour", "24", False),
        ("time_wday", "6", True),
        ("remote_addr", "256.0.0.1", False),
        ("remote_addr", "10.0.0.1", True),
        ("User-Agent", " a", False),
        ("User-Agent", "", True),
        ("directory", "/srv/a.b/c", True),
        ("directory", "/srv/axb", False),
    ],
)
def test_texts_of_subjects(subject: str, text: str, is_possible: bool) -> None:
    assert Pattern(subjects_of(subject, ("/srv/a.b/",), is_mixed=False).pattern).holds(text) is is_possible


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("(a?){900}b", "(a?){901}b"),
        ("[ab]*a[ab]{20}$", "[ab]*a(a|b){20}$"),
        ("(.*a){12}$", "(.*a){13}$|x"),
        ("(?:(?:(?:){900}){900}){900}", "x"),
        ("(" * 200 + "a" + ")" * 200, "a"),
        ("a" * 9000, "a" * 9001),
        ("(?!.*(a|b)*c(d|e){15}f)(?!.*g.{15}h).*", "(?!.*i.{15}j).*"),
        ("(x+x+)+\\1y", "(x+x+)+\\1z"),
    ],
)
def test_hostile_patterns_end_at_the_bounds(first: str, second: str) -> None:
    begun = time.process_time()
    found = compare_patterns(Pattern(first), Pattern(second))
    assert time.process_time() - begun < 2 * automaton.MAX_SECONDS + languages.MAX_SECONDS + 2
    assert found.relation is not Relation.EQUAL or found.is_identical


def test_more_pairs_of_states_than_the_bound_are_not_decided() -> None:
    first, second = Pattern("^[ab]*a[ab]{6}$"), Pattern("^[ab]*a(?:a|b){6}$")
    assert compare_patterns(first, second).relation is Relation.EQUAL
    found = compare_patterns(first, second, max_pairs=20)
    assert found.relation is Relation.NOT_DECIDED and "more than 20 pairs" in found.reason
