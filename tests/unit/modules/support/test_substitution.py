"""Substitution of groups and the test for a URL, as in httpd 2.4.71 (see also test_mod_alias,
test_mod_setenvif).
"""

from __future__ import annotations

import pytest

from whimbrel.base.regex import compile_regex
from whimbrel.modules.support.substitution import Substitution, is_url


@pytest.mark.parametrize(
    ("text", "ampersand", "want"),
    [
        ("$1-$2", False, "d-"),
        ("[$3$9]", False, "[]"),
        (r"\$1 \x &", False, "$1 x &"),
        ("&$0", True, "/d/d"),
        (r"\&", True, "&"),
        ("$", False, "$"),
        ("a\\", False, "a\\"),
    ],
)
def test_substitution(text: str, ampersand: bool, want: str) -> None:
    """``$N`` is a group, empty if it did not match or does not exist; a backslash escapes the next
    character.
    """
    found = compile_regex("^/(d)(z)?").search("/d/x")
    assert found is not None
    assert Substitution(text, ampersand=ampersand).apply(found) == want


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://x", True),
        ("1http://x", True),
        ("/a:b", False),
        (":x", False),
        ("a", False),
        ("x+y-z.1:", True),
    ],
)
def test_is_url(text: str, url: bool) -> None:
    assert is_url(text) is url
