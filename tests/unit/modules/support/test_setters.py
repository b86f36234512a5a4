"""The C functions behind httpd's number arguments, and its times.  Expected values are those of the C
library and of 2.4.71.
"""

from __future__ import annotations

import pytest

from whimbrel.base.numbers import atoi, strtol, strtol_exact
from whimbrel.modules.support.setters import timeout


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12abc", 12),
        (" +7", 7),
        ("-5", -5),
        ("x", 0),
        ("", 0),
        ("010", 10),
        ("1e3", 1),
        ("0x10", 0),
        ("99999999999999999999", -1),
        ("2147483648", -2147483648),
        ("4294967296", 0),
    ],
)
def test_atoi(text: str, value: int) -> None:
    assert atoi(text) == value


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [
        ("12", 10, 12),
        ("12abc", 10, None),
        ("010", 0, 8),
        ("0x1f", 0, 31),
        ("0x1f", 16, 31),
        ("-3", 10, -3),
        ("08", 0, None),
    ],
)
def test_strtol(text: str, base: int, value: int | None) -> None:
    assert strtol_exact(text, base) == value


def test_strtol_gives_back_what_follows() -> None:
    assert strtol("7k") == (7, "k")
    assert strtol("x") == (0, "x")


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("5", 5_000_000),
        ("500ms", 500_000),
        ("1min", 60_000_000),
        ("5mi", 300_000_000),
        ("2h", 7_200_000_000),
        ("5sec", 5_000_000),
        ("+5", 5_000_000),
        ("99999999999", 99999999999_000_000),
        ("0", 0),
        ("5S", None),
        ("5mS", None),
        ("5m", None),
        ("5H", None),
        ("5us", None),
        ("-5", None),
        ("99999999999999999999", None),
        ("x", None),
        ("1.5", None),
    ],
)
def test_timeout(text: str, microseconds: int | None) -> None:
    assert timeout(text) == microseconds
