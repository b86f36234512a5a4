"""Logical lines.  Expected values: the lines that 2.4.71 and 2.2.34 name in their messages, and the words
they echo.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.syntax.lines import V22_LINES, V24_LINES, LineRules, logical_lines, split_name


def numbered(data: bytes, rules: LineRules = V24_LINES) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in logical_lines(data, rules)]


BOTH = [
    (b"Options foo\\\nbar\n", [(2, "Options foobar")]),
    (b"Options foo \\\n  bar\n", [(2, "Options foo   bar")]),
    (b"Options foo\\ \nbar\n", [(1, "Options foo\\"), (2, "bar")]),
    (b"Options foo\\\t\nbar\n", [(1, "Options foo\\"), (2, "bar")]),
    (b"Options foo\\\r\nbar\r\n", [(2, "Options foobar")]),
    (b"# comment \\\nUseCanonicalName banana\nx", [(2, "# comment UseCanonicalName banana"), (3, "x")]),
    (b"UseCan\\\nonicalName banana\n", [(2, "UseCanonicalName banana")]),
    (b"\\\nx y\n", [(2, "x y")]),
    (b"\\\n\nx\n", [(2, ""), (3, "x")]),
    (b"\n\n\nx\n", [(1, ""), (2, ""), (3, ""), (4, "x")]),
    (b"KeepAlive On\rx y\r", [(1, "KeepAlive On\rx y")]),
    (b"a\r\r\nb\n", [(1, "a"), (2, "b")]),
    (b"x\\\r\r\ny", [(1, "x\\"), (2, "y")]),
    (b"\x0c\nx\n", [(1, ""), (2, "x")]),
    (b" \t\x0b x \x0b\n", [(1, "x")]),
    (b"x y\0z\nb\n", [(1, "x y"), (2, "b")]),
    (b"x y\0\\\nb\n", [(1, "x y"), (2, "b")]),
    (b"x y\\\n\0z\nb", [(2, "x y"), (3, "b")]),
    (b"\xef\xbb\xbfKeepAlive On\n", [(1, "\xef\xbb\xbfKeepAlive On")]),
    (b"\xa0x\x85\n", [(1, "\xa0x\x85")]),
    (b"x", [(1, "x")]),
    (b"x\\", [(1, "x\\")]),
    (b"x\\\r", [(1, "x\\")]),
    (b"", []),
    (b"\\\n\\\n", []),
]


@pytest.mark.parametrize("rules", [V22_LINES, V24_LINES], ids=["2.2", "2.4"])
@pytest.mark.parametrize(("data", "expected"), BOTH)
def test_both_versions_read(data: bytes, expected: list[tuple[int, str]], rules: LineRules) -> None:
    assert numbered(data, rules) == expected


@pytest.mark.parametrize(
    ("data", "in_24", "in_22"),
    [
        (b"Options foo\\\\\\\nbar\n", [(2, "Options foo\\\\bar")], [(1, "Options foo\\\\"), (2, "bar")]),
        (b"Options a\\\\\nb\n", [(2, "Options a\\b")], [(1, "Options a\\"), (2, "b")]),
        (b"Options a\\\\\n\nb\n", [(3, "Options ab")], [(1, "Options a\\"), (2, ""), (3, "b")]),
        (b"Options foo\\\n", [(2, "Options foo")], []),
        (b"Options a\\\n\\\n", [(3, "Options a")], []),
    ],
)
def test_the_versions_differ(data: bytes, in_24: list[tuple[int, str]], in_22: list[tuple[int, str]]) -> None:
    assert numbered(data) == in_24
    assert numbered(data, V22_LINES) == in_22


@pytest.mark.parametrize(
    ("size", "in_22"),
    [
        (8189, [(1, "x" * 8189), (2, "next")]),
        (8190, [(1, "x" * 8190), (2, "next")]),
        (8191, [(1, "x" * 8191), (2, ""), (3, "next")]),
        (8192, [(1, "x" * 8191), (2, "x"), (3, "next")]),
        (16384, [(1, "x" * 8191), (2, "x" * 8191), (3, "xx"), (4, "next")]),
    ],
)
def test_22_cuts_long_lines(size: int, in_22: list[tuple[int, str]]) -> None:
    data = b"x" * size + b"\nnext\n"
    assert numbered(data, V22_LINES) == in_22
    assert numbered(data) == [(1, "x" * size), (2, "next")]


def test_22_cuts_what_continuations_have_joined() -> None:
    data = b"a" * 8000 + b"\\\n" + b"b" * 200 + b"\nc\n"
    assert numbered(data, V22_LINES) == [(2, "a" * 8000 + "b" * 191), (3, "b" * 9), (4, "c")]


def test_an_empty_line_uses_up_backslashes_left_over_in_24() -> None:
    assert numbered(b"Options a\\\\\\\n\\\n\n\nx\n") == [(5, "Options ax")]
    assert numbered(b"Options \\\\\n\n\na\n") == [(3, "Options"), (4, "a")]
    assert numbered(b"a\\\r\\\n\nb\n") == [(3, "ab")]


def test_many_joined_lines_are_read_in_linear_time() -> None:
    (line,) = logical_lines(b"# comment of fifty characters, again and again.... \\\n" * 40_000 + b"end\n")
    assert line.number == 40_001
    assert line.text.endswith(". end")


def test_blanks_before_a_directive_count_for_the_limit() -> None:
    assert numbered(b" " * 8189 + b"UseCanonicalName x\n", V22_LINES) == [(1, "Us"), (2, "eCanonicalName x")]


CONFIGURATION_BYTES = st.lists(
    st.sampled_from([b"a", b" ", b"\\", b"\n", b"\r", b"\0", b"#", b"\xff", b"x" * 4000])
).map(b"".join)


@given(CONFIGURATION_BYTES, st.sampled_from([V22_LINES, V24_LINES]))
def test_lines_follow_each_other_without_gaps(data: bytes, rules: LineRules) -> None:
    end = number = 0
    for line in logical_lines(data, rules):
        assert line.start == end < line.end <= len(data)
        assert line.number > number
        assert line.text == line.text.strip(" \t\n\x0b\x0c\r")
        assert "\0" not in line.text
        end, number = line.end, line.number
    assert b"\n" not in data[end:].rstrip(b"\r\n").replace(b"\\\n", b"").replace(b"\\\r\n", b"")


@given(st.lists(st.sampled_from([b"a", b" ", b"#", b"\r", b"\xff", b'"']), max_size=20).map(b"".join))
def test_a_line_without_specials_is_itself(text: bytes) -> None:
    stripped = text.strip(b" \t\n\x0b\x0c\r").decode("latin-1")
    assert numbered(text + b"\n") == [(1, stripped)]


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("Options  a  b", "Options", "a  b"),
        ("Options", "Options", ""),
        ('"Options" a', "Options", "a"),
        ("'Options'a", "Options", "a"),
        ('Options"a" b', 'Options"a"', "b"),
        ("\\\\Options a", "\\Options", "a"),
        ("Options> a", "Options", "a"),
        ("Options>> a", "Options>", "a"),
        (">", "", ""),
        ('"" Options a', "", "Options a"),
        ("a/b> a", "a/b>", "a"),
        ("x/> y", "x/>", "y"),
        ("<Directory /srv/www>", "<Directory", "/srv/www>"),
        ("<Directory> /", "<Directory", "/"),
        ("<Else>", "<Else", ">"),
        ("<Else", "<Else", ">"),
        ("<", "<", ">"),
        ("<>", "<", ">"),
        ("</Directory>", "</Directory>", ""),
        ("</Directory> # x", "</Directory>", "# x"),
        ("</Directory >", "</Directory", ">"),
        ("Options\x0ba", "Options", "a"),
        ("\xa0Options a", "\xa0Options", "a"),
    ],
)
def test_the_name_and_the_rest(text: str, name: str, args: str) -> None:
    assert split_name(text) == (name, args)


@pytest.mark.parametrize("filling", [b"\0", b"x", b"\\"])
def test_a_file_without_line_ends_takes_linear_time(filling: bytes) -> None:
    """2.2 cuts lines at 8191 bytes: a search for the line end of each piece is bounded by the piece."""
    assert _seconds(filling * 16_000_000) < 9 * max(_seconds(filling * 4_000_000), 0.02)


def _seconds(data: bytes) -> float:
    begin = time.process_time()
    assert sum(1 for _ in logical_lines(data, V22_LINES)) >= len(data) // 8192
    return time.process_time() - begin
