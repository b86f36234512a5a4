"""Texts of a page are UTF-8 without control characters."""

from __future__ import annotations

import pytest

from whimbrel.report.page.texts import number, page_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("caf\xc3\xa9", "café"),  # UTF-8, one character per byte
        ("caf\xe9", "caf\\xe9"),  # Latin-1
        ("a\x00\x1b[31mb\nc", "a\\x00\\x1b[31mb\\x0ac"),
        ("\xe2\x80\xaeevil", "\\u202eevil"),  # right-to-left override
        ("<b>&", "<b>&"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    assert page_text(text) == shown
    assert page_text(text).encode().decode() == shown


def test_long_texts_are_cut() -> None:
    assert page_text("x" * 2_000_000, 10) == "xxxxxxx..."
    assert number(1_234_567) == "1,234,567"
