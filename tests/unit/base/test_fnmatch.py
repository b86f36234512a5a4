"""Shell patterns: apr_fnmatch, with and without FNM_PATHNAME."""

from __future__ import annotations

import pytest

from whimbrel.base.fnmatch import compile_fnmatch


@pytest.mark.parametrize(
    ("pattern", "subject", "by_segment", "matches"),
    [
        ("/a/*/c/", "/a/b/c/", True, True),
        ("/a/*/c/", "/a/b/x/c/", True, False),
        ("*.html", "f.html", False, True),
        ("*.html", ".html", False, True),
        ("?.txt", "a.txt", False, True),
        ("?.txt", "ab.txt", False, False),
        ("[ab].txt", "b.txt", False, True),
        ("[!ab].txt", "b.txt", False, False),
        ("[a-c]x", "bx", False, True),
        (r"\*x", "*x", False, True),
        (r"\*x", "ax", False, False),
        ("a.c", "abc", False, False),
        ("*", "a/b", False, True),
        ("/*", "/a/b", True, False),
    ],
)
def test_wildcards(pattern: str, subject: str, by_segment: bool, matches: bool) -> None:
    assert (compile_fnmatch(pattern, by_segment=by_segment).search(subject) is not None) is matches
