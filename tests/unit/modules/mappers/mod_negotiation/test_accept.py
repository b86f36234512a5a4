"""Accept... fields: odd ones as httpd reads them, the others as in RFC 9110."""

from __future__ import annotations

import pytest

from whimbrel.modules.mappers.mod_negotiation.accept import Entry, entry, members, quality, transparency


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0", 0),
        ("0.5", 0.5),
        (".25", 0.25),
        ("0.1234", 0.123),
        ("abc", 1),
        ("1.5", 1),
        ("", 1),
        ("0.x", 0),
    ],
)
def test_quality(text: str, value: float) -> None:
    assert quality(text) == pytest.approx(value)


def test_members() -> None:
    assert members(None) is None
    assert members("") == []
    assert members("text/html;level=1, image/GIF ; q=0.5,*/*;q=0") == [
        Entry("text/html", 1.0, 1.0),
        Entry("image/gif", 0.5),
        Entry("*/*", 0.0),
    ]
    assert members("fr;q=abc, en-US") == [Entry("fr"), Entry("en-us")]


def test_types_with_parameters() -> None:
    assert entry('text/html; charset="UTF-8"; qs=0.8')[0] == Entry("text/html", 0.8, 2.0, "utf-8")


@pytest.mark.parametrize(
    ("field", "agent", "supported", "may_choose", "rvsa"),
    [
        (None, None, False, True, False),
        ("trans", None, True, False, False),
        ("trans", "Lynx/2.8", False, True, False),
        ("1.0", None, True, True, True),
        ("*", None, True, True, False),
        ("", None, False, False, False),
    ],
)
def test_negotiate(
    field: str | None, agent: str | None, supported: bool, may_choose: bool, rvsa: bool
) -> None:
    found = transparency(field, agent)
    assert (found.supported, found.may_choose, found.rvsa) == (supported, may_choose, rvsa)
