"""Hosts of requests: httpd 2.4.71 answers 400 to those that are None here."""

from __future__ import annotations

import pytest

from whimbrel.http.syntax.host import check_host
from whimbrel.http.syntax.line_reader import ParserOptions


def checked(name: str, *, strict: bool = True, from_target: bool = False) -> tuple[str, int | None] | None:
    """Return name and port, None for a refusal."""
    host = check_host(name, ParserOptions(strict=strict), from_target=from_target)
    return None if host.reasons else (host.name, host.port)


@pytest.mark.parametrize(
    ("literal", "is_accepted"),
    [
        ("::1", True),
        ("1:2", True),
        ("ffff:", True),
        ("12345::", True),
        ("::FFFF:1.2.3.4", True),
        ("4712::abcd::", False),
        (":::", False),
        (":.1", False),
        ("1.:2", False),
        (":1..2", False),
        (":g", False),
    ],
)
def test_literals_of_targets(literal: str, is_accepted: bool) -> None:
    assert checked(literal, from_target=True) == ((literal.lower(), None) if is_accepted else None)


@pytest.mark.parametrize(
    ("name", "strict", "unsafe"),
    [
        ("A.B:8080", ("a.b", 8080), ("a.b", 8080)),
        ("a.", ("a", None), ("a", None)),
        ("123", None, ("123", None)),
        ("1.2.3", None, ("1.2.3", None)),
        ("a.1", None, ("a.1", None)),
        ("a..b", None, None),
        ("a/b", None, None),
        ("a:0", None, None),
        ("[1:2]", None, None),
        (".", None, ("", None)),
    ],
)
def test_fields(
    name: str, strict: tuple[str, int | None] | None, unsafe: tuple[str, int | None] | None
) -> None:
    assert (checked(name), checked(name, strict=False)) == (strict, unsafe)
