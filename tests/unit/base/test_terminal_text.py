"""Text for terminals."""

from __future__ import annotations

import time

import pytest

from whimbrel.base.latin1 import to_text
from whimbrel.base.terminal_text import (
    MAX_TEXT,
    UNBOUNDED,
    columns_of,
    cut,
    padded,
    paint,
    shown,
    terminal_bytes,
    terminal_width,
    wrapped,
)


def test_bytes_of_utf8_are_characters_and_all_others_leave_as_they_came() -> None:
    assert shown(to_text("Größe".encode())) == "Größe"
    assert terminal_bytes(shown(to_text(b"a\xe9b"))) == b"a\xe9b"
    assert columns_of(shown(to_text("日本".encode()))) == 4


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\x1b[31mb", "a\\x1b[31mb"),
        (b"a\nb\rc", "a\\x0ab\\x0dc"),
        ("a\u202eb".encode(), "a\\u202eb"),
        (b"\x9b31m", "\\x9b31m"),
    ],
)
def test_nothing_of_another_person_steers_the_terminal(data: bytes, text: str) -> None:
    assert shown(to_text(data)) == text


def test_a_long_text_is_cut_at_once() -> None:
    start = time.monotonic()
    for _ in range(1000):
        text = shown("\xc3\xa9" * 500_000)
    assert time.monotonic() - start < 5
    assert len(text) == MAX_TEXT and text.endswith("...")
    assert cut("abcdef", 5) == "ab..." and cut("abcde", 5) == "abcde"


def test_words_are_never_broken() -> None:
    assert wrapped("one twothreefour five", 8) == ["one", "twothreefour", "five"]
    assert wrapped("a b", 3) == ["a b"]
    assert wrapped("C05 name  a.conf:8  Is it?", 18) == ["C05 name  a.conf:8", "Is it?"]
    assert wrapped("one   two\nthree", 9) == ["one two", "three"]
    assert wrapped("", 8) == [""]
    assert wrapped("日本 日本", 5) == ["日本", "日本"]


def test_padding_counts_columns() -> None:
    assert padded("日", 4) == "日  " and padded("abcde", 4) == "abcde"


def test_color_is_on_request() -> None:
    assert paint("a", "31", True) == "\x1b[31ma\x1b[0m"
    assert paint("a", "31", False) == "a" and paint("a", "", True) == "a"


def test_a_pipe_wraps_nothing() -> None:
    assert terminal_width() == UNBOUNDED
