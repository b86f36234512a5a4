"""Lines of response heads: folding and length, as apache2 2.4.71 reads them."""

from __future__ import annotations

from whimbrel.http.client.head_lines import HeadLine, HeadLines


def test_folded_line_needs_the_byte_after_it():
    lines = HeadLines(100)
    lines.feed(b"a\r\n")
    assert lines.next(fold=True, skip=False) is None
    lines.feed(b" b")
    assert lines.next(fold=True, skip=False) is None
    lines.feed(b"\r\nc\n")
    assert lines.next(fold=True, skip=False) == HeadLine("a b")
    assert lines.next(fold=True, skip=False) is None
    assert lines.next(fold=True, skip=False, ended=True) == HeadLine("c")
    assert lines.rest() == b""


def test_empty_line_is_not_folded():
    lines = HeadLines(100)
    lines.feed(b"\r\n x\n")
    assert lines.next(fold=True, skip=False) == HeadLine("")
    assert lines.rest() == b" x\n"


def test_nul():
    lines = HeadLines(100)
    lines.feed(b"a\0b\nc")
    assert lines.next(fold=False, skip=False) == HeadLine("a", has_nul=True)


def test_skipped_rest_of_a_line_is_not_buffered():
    lines = HeadLines(100)
    for _ in range(1000):
        lines.feed(b"x" * 1000)
        assert lines.next(fold=False, skip=True) is None
        assert len(lines.data) <= 10_000
    lines.feed(b"y\nz\n")
    assert lines.next(fold=False, skip=True) == HeadLine("x" * 99, is_long=True)
    assert lines.next(fold=False, skip=True) == HeadLine("z")


def test_line_that_is_too_long_is_returned_at_once():
    lines = HeadLines(100)
    lines.feed(b"x" * 10_000)
    assert lines.next(fold=False, skip=False) == HeadLine("x" * 99, is_long=True)
