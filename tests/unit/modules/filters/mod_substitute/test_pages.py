"""Substitution on whole texts is that of lines; property test on hostile texts and patterns."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.samples import amount

from whimbrel.base.regex import RegexError, compile_regex, scannable
from whimbrel.modules.filters.mod_substitute.lines import Cut, Rules, substitute_lines
from whimbrel.modules.filters.mod_substitute.pages import compile_stages, substitute_page
from whimbrel.modules.filters.mod_substitute.patterns import NO_LIMIT, FixedText, Pattern, PatternExpression
from whimbrel.modules.support.substitution import Substitution

ALPHABET = "aabbcAB\n\n\0\r\\$1 .\xe9"
TEXTS = st.text(ALPHABET, max_size=60)
ATOMS = ["a", "b", "ab", ".", "[ab]", "[^a]", "(a)", "(b|c)", "(?:ab|a)", r"\s", r"\w", "A", "a*", "b?", "c+"]
ATOMS += ["a{1,2}", "[^b]*", ".*", r"\.", "(a*)", "a+?", "^", "$", r"\b", "x"]
EXPRESSIONS = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).map("".join)
REPLACEMENTS = st.lists(
    st.sampled_from(["", "a", "b", "[$0]", "$1", r"\$", r"\\", "&", "\\n", "$9", "\xe9"]), max_size=3
).map("".join)


def expression(pattern: str, to: str, *, ignore_case: bool, flatten: bool) -> Pattern | None:
    try:
        regex = compile_regex(pattern, ignore_case=ignore_case)
    except RegexError:
        return None
    scan = scannable(pattern, ignore_case=ignore_case)
    return PatternExpression(regex, Substitution(to), scan, flatten)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern | None:
    """Draw a pattern of either kind."""
    ignore_case, flatten = draw(st.booleans()), draw(st.booleans())
    to = draw(REPLACEMENTS)
    if draw(st.booleans()):
        return FixedText(draw(st.text("aabBA\\.", min_size=1, max_size=3)), to, ignore_case, flatten)
    return expression(draw(EXPRESSIONS), to, ignore_case=ignore_case, flatten=flatten)


@settings(max_examples=amount(100, 300), deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=3), TEXTS, st.sampled_from([20, 60, 200, NO_LIMIT]))
def test_the_whole_text_gives_what_the_lines_give(drawn: list[Pattern | None], text: str, limit: int) -> None:
    rules = Rules(tuple(pattern for pattern in drawn if pattern is not None), limit)
    stages = compile_stages(rules)
    got = None if stages is None else substitute_page(rules, stages, text)
    try:
        want: str | None = substitute_lines(rules, text)
    except Cut:
        want = None
        assert got is None
    assert got is None or got == want


@pytest.mark.parametrize(
    "written", ["curlew", r'href="([^"]*)"', "(foo|bar)", "cur(lew)", r"foo\.bar", "[0-9]+", "<b>.*</b>"]
)
def test_usual_expressions_qualify(written: str) -> None:
    pattern = expression(written, "x", ignore_case=False, flatten=True)
    assert pattern is not None
    assert compile_stages(Rules((pattern,), NO_LIMIT)) is not None


@pytest.mark.parametrize("written", ["^a", "a$", r"\ba", "a*", "(?<=a)b", "a|", "[^a]+b"])
def test_expressions_that_see_line_ends_go_by_lines(written: str) -> None:
    pattern = expression(written, "x", ignore_case=False, flatten=True)
    assert pattern is not None
    assert compile_stages(Rules((pattern,), NO_LIMIT)) is None


def test_a_search_that_would_take_too_long_goes_by_lines() -> None:
    pattern = expression(r'href="([^"]*)"', "x", ignore_case=False, flatten=True)
    assert pattern is not None
    rules = Rules((pattern,), NO_LIMIT)
    stages = compile_stages(rules)
    assert stages is not None
    assert substitute_page(rules, stages, 'href="' * 10_000 + "\n") is not None
    assert substitute_page(rules, stages, 'href="x' + "href=" * 10 + "\n") is not None
    slow = expression("ab*b*b*c", "x", ignore_case=False, flatten=True)
    assert slow is not None
    rules = Rules((slow,), NO_LIMIT)
    stages = compile_stages(rules)
    assert stages is not None
    assert substitute_page(rules, stages, "a" + "b" * 10_000) is None
