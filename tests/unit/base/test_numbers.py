"""Numbers, letters and blanks as C has them in the locale of httpd, which is "C": strtol(3), isspace(3),
toupper(3).
"""

from __future__ import annotations

import pytest

from whimbrel.base import numbers

BIG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "digits", "alphanumeric"),
    [
        ("12", True, True),
        ("", False, False),
        ("\xb2", False, False),
        ("1\xb9", False, False),
        ("a1", False, True),
        ("\xe9", False, False),
        (BIG, True, True),
    ],
)
def test_digits_and_letters_are_those_of_ascii(text: str, digits: bool, alphanumeric: bool) -> None:
    assert numbers.is_digits(text) is digits
    assert numbers.is_alphanumeric(text) is alphanumeric


def test_letters() -> None:
    assert [numbers.is_letter(c) for c in ("a", "Z", "\xe9", "1", "")] == [True, True, False, False, False]


@pytest.mark.parametrize("blank", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0"])
def test_what_python_takes_for_blank_is_not(blank: str) -> None:
    assert not numbers.is_blank(blank)
    assert numbers.strip(f" {blank}\t") == blank
    assert numbers.split(f" a{blank}b c") == [f"a{blank}b", "c"]


@pytest.mark.parametrize(
    ("text", "most"),
    [("", 0), (" ", 1), (" a  b ", 0), (" a  b ", 1), ("a ", 1), (" a b  c ", 1), (" a b  c ", 5)],
)
def test_words_are_cut_as_python_cuts_ascii(text: str, most: int) -> None:
    assert numbers.split(text, most) == text.split(None, most or -1)


def test_case_stays_in_latin_1() -> None:
    assert numbers.upper("aé\xb5\xdf\xff") == "Aé\xb5\xdf\xff"
    assert numbers.lower("AÉ") == "aÉ"


@pytest.mark.parametrize(
    ("text", "base", "value", "rest"),
    [
        ("12", 10, 12, ""),
        (" +12x", 10, 12, "x"),
        ("-1", 10, -1, ""),
        ("x", 10, 0, "x"),
        ("", 10, 0, ""),
        ("1_0", 10, 1, "_0"),
        ("\xb2", 10, 0, "\xb2"),
        ("0x1f", 0, 31, ""),
        ("017", 0, 15, ""),
        ("0x", 16, 0, "x"),
        ("0X1g", 16, 1, "g"),
        (BIG, 10, numbers.LONG_MAX, ""),
        ("-" + BIG, 10, -numbers.LONG_MAX - 1, ""),
        ("0" * 5000 + "7", 10, 7, ""),
        ("9223372036854775807", 10, numbers.LONG_MAX, ""),
        ("9223372036854775808", 10, numbers.LONG_MAX, ""),
        ("-9223372036854775808", 10, -numbers.LONG_MAX - 1, ""),
        ("f" * 5000, 16, numbers.LONG_MAX, ""),
    ],
)
def test_strtol(text: str, base: int, value: int, rest: str) -> None:
    assert numbers.strtol(text, base) == (value, rest)
    assert numbers.strtol_exact(text, base) == (None if rest else value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4294967376", 80),
        ("2147483648", -2147483648),
        (BIG, -1),
        ("-" + BIG, 0),
        (" 7 apples", 7),
        ("\xb2", 0),
    ],
)
def test_atoi_wraps_to_32_bits(text: str, value: int) -> None:
    assert numbers.atoi(text) == value


def test_digits_of_any_count_are_a_value() -> None:
    assert numbers.decimal(BIG) == numbers.LONG_MAX + 1
    assert numbers.decimal("") == 0
    assert numbers.decimal("0" * 5000) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0.0),
        ("x1", 0.0),
        (" +1.5junk", 1.5),
        ("-.5", -0.5),
        ("1e1", 10.0),
        ("1e", 1.0),
        ("0x10", 16.0),
        ("0x1p3z", 8.0),
        ("0x", 0.0),
        ("1_0", 1.0),
        ("1e9999", float("inf")),
        ("-0x1p9999", float("-inf")),
        ("InfinityX", float("inf")),
    ],
)
def test_atof(text: str, value: float) -> None:
    assert numbers.atof(text) == value
