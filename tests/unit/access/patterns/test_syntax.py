"""Constructs of PCRE, each with a plainer pattern that has the same texts (pcre2pattern(3))."""

from __future__ import annotations

import pytest

from whimbrel.access.patterns.boundaries import boundary_samples
from whimbrel.access.patterns.syntax import UnknownSyntax, parse_pattern
from whimbrel.verify.patterns.languages import Pattern, Relation, compare_patterns

EQUAL = [
    ("a(?#note)b", "ab"),
    ("a(?#)b(?#x)", "ab"),
    ("(?x)a b", "ab"),
    ("(?x) a\tb\n", "ab"),
    ("(?x)a\v\f\rb", "ab"),
    ("(?x)a # comment\nb", "ab"),
    ("(?x)a# comment", "a"),
    ("(?x)a\\ b", "a b"),
    ("(?x)aXZ09_-,", "aXZ09_-,"),
    ("[\\b]", "\\x08"),
    ("[a\\b]c", "(a|\\x08)c"),
    ("(?x)a[ ]b", "a b"),
    ("(?i)ab", "[aA][bB]"),
    ("(?i:a)b", "[aA]b"),
    ("(?i)a(?-i)b", "[aA]b"),
    ("(?i)a(?-i:b)c", "[aA]b[cC]"),
    ("(?ix) a b", "[aA][bB]"),
    ("\\Qa.b*\\E", "a\\.b\\*"),
    ("\\Qa", "a"),
    ("a\\Q\\Eb", "ab"),
    ("\\d", "[0-9]"),
    ("\\D", "[^0-9]"),
    ("\\w", "[A-Za-z0-9_]"),
    ("\\W", "[^A-Za-z0-9_]"),
    ("\\s", "[ \\t\\n\\x0b\\f\\r]"),
    ("\\S", "[^ \\t\\n\\x0b\\f\\r]"),
    ("[\\d_]", "[0-9_]"),
    ("[^\\W]", "\\w"),
    ("[[:digit:]x]", "[0-9x]"),
    ("[[:^digit:]]", "[^0-9]"),
    ("[^\\s\\S]", "(?!)"),
    ("[^\\x00-\\x7f\\x80-\\xff]x|y", "y"),
    ("[a\\-z]", "[-az]"),
    ("[]a]", "[\\]a]"),
    ("[^]a]", "[^\\]a]"),
    ("[a-]", "[\\-a]"),
    ("\\x41\\x{42}", "AB"),
    ("\\0101\\07", "\\x081\\x07"),
    ("\\08[\\060-\\071]\\0", "\\x008[0-9]\\x00"),
    ("\\e\\f\\n\\r\\t\\a", "\\x1b\\x0c\\x0a\\x0d\\x09\\x07"),
    ("(?:ab)", "ab"),
    ("(?<n>a)(?P<m>b)(?'o'c)", "abc"),
    ("a{2}", "aa"),
    ("a{1,2}", "aa?"),
    ("a{0,1}b", "a?b"),
    ("ba{0,}", "ba*"),
    ("a{2,}", "aa+"),
    ("a+?b", "a+b"),
    ("a??b", "a?b"),
    ("a*?b", "a*b"),
    ("\\Aa", "^a"),
    ("a\\z|b", "b|a\\z"),
    ("(a|b)c", "ac|bc"),
    ("a(?=b)", "ab"),
    ("(?<=a)b", "ab"),
    ("a(?!b)b", "(?!)"),
    ("x\\b", "x(?!\\w)"),
    ("\\Bx", "(?<=\\w)x"),
    ("a{x", "a\\{x"),
]


@pytest.mark.parametrize(("construct", "plain"), EQUAL)
def test_a_construct_has_the_texts_of_its_plain_form(construct: str, plain: str) -> None:
    found = compare_patterns(Pattern(construct), Pattern(plain))
    assert found.relation is Relation.EQUAL, found


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("(?x)a b", "a b", "ab"),
        ("a{2}", "a{3}", "aa"),
        ("^a{1,2}b", "^a{1,3}b", "aaab"),
        ("(?i)a", "a", "A"),
        ("(?i:a)b", "(?i)ab", "aB"),
        ("[[:alpha:]]", "[a-z]", "A"),
        ("\\x41", "\\x42", "A"),
        ("^a", "a", "xa"),
        ("a$", "a", "ax"),
        ("\\s", " ", "\t"),
        ("\\Qa.\\E", "a.", "ab"),
        ("a(?#b)c", "abc", "ac"),
        ("x\\b", "x", "xy"),
        ("(?<!a)b", "b", "ab"),
        ("a(?!b)", "a", "ab"),
        ("(?<=a(?=c))b", "ab", "ab"),
        ("(?<=a(?!b))b", "ab", "ab"),
        ("(?<=(?<!x)a)b", "ab", "xab"),
    ],
)
def test_constructs_that_differ(first: str, second: str, text: str) -> None:
    """The judge is the expression that requests are matched with."""
    patterns = Pattern(first), Pattern(second)
    assert patterns[0].holds(text) is not patterns[1].holds(text)
    assert compare_patterns(*patterns).relation is Relation.DIFFERENT


def test_samples_change_each_character() -> None:
    """Removed, repeated, in the other case, another one; the beginnings and the ends."""
    found = set(boundary_samples([parse_pattern("ab", ignore_case=False, version22=False)]))
    assert found >= {"ab", "b", "a", "aab", "abb", "Ab", "aB", "xb", "ax", "xab", "abx", ""}
    of_x = set(boundary_samples([parse_pattern("x", ignore_case=False, version22=False)]))
    assert {"y", "X", "xx"} <= of_x


@pytest.mark.parametrize(("version22", "holds"), [(True, True), (False, False)])
def test_only_2_2_ends_a_text_before_a_line_feed(version22: bool, holds: bool) -> None:
    """RegexDefaultOptions has DOLLAR_ENDONLY in 2.4."""
    assert Pattern("a$", version22=version22).holds("a\n") is holds
    found = compare_patterns(Pattern("a$", version22=version22), Pattern("a\\z"))
    assert (found.relation is Relation.EQUAL) is not holds


@pytest.mark.parametrize(
    "text",
    [
        "(a",
        "a)",
        "[a",
        "a(?#b",
        "(?Z)",
        "(*VERB)",
        "\\",
        "(?(1)a|b)",
        "(?R)",
        "\\p{Lu}",
        "*a",
        "[b-a]",
        "[a-[:digit:]]",
        "[!-[:digit:]]",
        "[a-\\Qz\\E]",
        "[[:digit:]-z]",
        "[a\\Qz\\E]",
        "[\\1]",
    ],
)
def test_what_is_beyond_the_parser_is_said(text: str) -> None:
    with pytest.raises(UnknownSyntax):
        parse_pattern(text, ignore_case=False, version22=False)
