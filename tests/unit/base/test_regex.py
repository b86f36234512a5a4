"""Regular expressions as httpd matches them.  Expected matches come from the running servers where the
versions differ; times are bounds, not measurements.
"""

from __future__ import annotations

import time

import pytest

from whimbrel.base.regex import RegexError, compile_regex, without_end
from whimbrel.config.vhosts import matcher


@pytest.mark.parametrize(
    ("pattern", "subject", "new", "old"),
    [
        ("^a.b$", "a\nb", True, False),
        ("^a$", "a\n", False, True),
        ("a$", "xa", True, True),
        ("[$]x", "$x", True, True),
    ],
)
def test_newlines(pattern: str, subject: str, new: bool, old: bool) -> None:
    assert (compile_regex(pattern).search(subject) is not None) is new
    assert (compile_regex(pattern, version22=True).search(subject) is not None) is old


def test_the_old_version_knows_no_angle_names() -> None:
    assert compile_regex("^/(?<n>.)$").names == {"n": 1}
    with pytest.raises(RegexError):
        compile_regex("^/(?<n>.)$", version22=True)
    assert compile_regex("(?<=a)b", version22=True).search("ab")


@pytest.mark.parametrize(
    ("pattern", "subject"),
    [
        ("^(a+)+$", "a" * 60 + "!"),
        ("(a|aa)*$", "a" * 80 + "b"),
        ("(.*)(.*)x$", "a" * 8000),
        ("(.*)(.*)(.*)x$", "a" * 8000),
        ("(?:a*)*b", "a" * 60),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 200),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60),
        ("(?:(?:a|aa)b?)*$", "a" * 70 + "!"),
        (r"^((a{1,9}){1,9}){1,9}$", "a" * 60 + "!"),
        ("a?" * 28 + "a" * 28 + "b", "a" * 28),
        (r"(\w+\s?)+$", "a" * 60 + "!"),
        (r"(a+)+\1!", "a" * 60),
    ],
)
def test_no_search_goes_on_for_ever(pattern: str, subject: str) -> None:
    start = time.process_time()
    assert compile_regex(pattern).search(subject) is None
    assert time.process_time() - start < 2


def test_long_and_short_texts_match_alike() -> None:
    regex = compile_regex("^/([^/]+)/(.*)/([^/]*)$")
    for size in (3, 5000):
        found = regex.search(f"/a/{'b' * size}/c")
        assert found is not None and found.groups() == ("a", "b" * size, "c")


def test_a_deep_match_needs_more_than_the_stack_of_compiled_code() -> None:
    """apache2 2.4.71: `SetEnvIf X "(?:a|b)+$"` matches 8,000 letters."""
    found = compile_regex("(?:a|b)+$").search("a" * 8000)
    assert found is not None and found.end() == 8000


def test_code_that_pcre_cannot_compile_to_machine_code_is_interpreted() -> None:
    assert compile_regex("(*NO_JIT)^a(?=b)").search("ab")


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("app$", "/w/app", False),
        ("app", "/w/app", True),
        (r"a\$", "/a$", True),
        ("[$]", "/a$", True),
        ("[]$]", "/a$", True),
        (r"\Qa$\E", "/a$", True),
        (r"app\z", "/w/app", True),
        ("(b$|app)", "/w/app", True),
    ],
)
def test_without_end_no_dollar_matches(pattern: str, text: str, matches: bool) -> None:
    """PCRE_NOTEOL (pcreapi(3))."""
    assert (compile_regex(without_end(pattern)).search(text) is not None) == matches


def test_the_names_of_a_virtual_host_are_matched_in_time() -> None:
    matches = matcher("*.*.*.*.*.example.com")
    assert matches("a.b.c.d.e.example.com")
    start = time.process_time()
    assert not matches("a." * 4000)
    assert time.process_time() - start < 2
