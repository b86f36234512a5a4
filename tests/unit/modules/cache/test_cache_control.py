"""Tokens of Cache-Control as httpd 2.4.71 reads them: observed at apache2 with mod_cache as HIT and MISS."""

from __future__ import annotations

import pytest

from whimbrel.modules.cache.cache_control import CacheControl, parse, vary_names

PRIVATE = (
    "max-age=9, foo: private",
    "max-age=9 private",
    "max-age=9, a@b, private",
    "max-age=9, (x), private",
    'max-age=9, foo="x"y, private',
    "max-age=9, foo bar, private",
    "max-age=9, =x, private",
    'max-age=9, "a" private',
    "max-age=9,\tprivate",
    'max-age=9,private="x" private',
)
STORED = (
    "max-age=9, foo:private",
    'max-age=9, "private"',
    'max-age=9, private="',
    "max-age=9, private;",
    'max-age=9, "a, private',
    'max-age=9,foo="a\\", private, "b"',
    "max-age=9,no-store=1",
    "max-age=9,no-storex",
)
NO_AGE = ("max-age=9;private", "max-age=9: x", "max-age=9=x", "max-age = 9", "max-age=9x")


@pytest.mark.parametrize("text", PRIVATE)
def test_directive_behind_other_text_counts(text: str) -> None:
    control = parse(text, None)
    assert control.private
    assert control.max_age_value == 9


@pytest.mark.parametrize("text", STORED)
def test_text_that_is_no_directive(text: str) -> None:
    control = parse(text, None)
    assert not control.private
    assert not control.no_store
    assert control.max_age_value == 9


@pytest.mark.parametrize("text", NO_AGE)
def test_number_with_other_text_is_none(text: str) -> None:
    assert not parse(text, None).max_age


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, []),
        ("X-B,,  x-a ,", ["x-a", "x-b"]),
        ("*", None),
        ("Accept, *", None),
        ("Accept *", None),
        ('"x"', None),
    ],
)
def test_names_of_vary(value: str | None, names: list[str] | None) -> None:
    assert vary_names(value) == names


def test_what_a_second_table_forbids_is_added() -> None:
    control = CacheControl(public=True, max_age=True, max_age_value=9)
    control.forbid(parse("private, max-age=5", None))
    assert (control.private, control.public, control.max_age_value) == (True, True, 9)
