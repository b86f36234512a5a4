"""Canonical URLs. Expected texts are those of httpd 2.4.71."""

from __future__ import annotations

import pytest

from whimbrel.modules.proxy.mod_proxy.canonical_url import UrlPart, canonical_encoding


@pytest.mark.parametrize(
    ("text", "part", "decoding", "expected"),
    [
        ("a b~c/d;e=f&g", UrlPart.PATH, False, "a%20b~c/d;e=f&g"),
        ('"<>\\^`{|}?#[]', UrlPart.PATH, False, "%22%3C%3E%5C%5E%60%7B%7C%7D%3F%23%5B%5D"),
        ("%41", UrlPart.PATH, False, "%2541"),
        ("%41%2f%2F%20", UrlPart.PATH, True, "A%2f%2F%20"),
        ("%4", UrlPart.PATH, True, None),
        ("\xe4", UrlPart.PATH, False, "%E4"),
        ("a+b%2Bc", UrlPart.SEARCH, True, "a+b%2Bc"),
        ("a:b/c", UrlPart.USER, False, "a%3Ab%2Fc"),
    ],
)
def test_encoding(text: str, part: UrlPart, decoding: bool, expected: str | None) -> None:
    assert canonical_encoding(text, part, is_decoding=decoding) == expected


def test_encoded_slashes_can_be_left_alone() -> None:
    assert canonical_encoding("a%2fb%41", UrlPart.PATH, keeps_encoded_slashes=True) == "a%2fb%2541"
    assert canonical_encoding("a%2", UrlPart.PATH, keeps_encoded_slashes=True) is None
