"""Checks of status lines and fields, in the words of mod_wsgi 4.9.4."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.support.samples import amount

from whimbrel.modules.wsgi.mod_wsgi_process.response import (
    any_status,
    checked_header,
    checked_headers,
    checked_status,
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("OK", "status code is not a 3 digit integer"),
        ("20 OK", "status code is not a 3 digit integer"),
        ("2000 OK", "status code is not a 3 digit integer"),
        ("200", "no space following status code"),
        ("200OK", "no space following status code"),
        ("200 a\tb", "control character present in reason phrase"),
        (b"200 OK", "expected unicode object, value of type bytes found"),
        ("200 €", "unicode object contains non latin-1 characters"),
    ],
)
def test_wrong_status_lines(value: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        checked_status(value)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (["a", "b"], "list of tuple values expected for headers, value of type list found"),
        (("a", "b", "c"), "tuple of length 2 expected for header, length is 3"),
        (("", "b"), "header name is empty"),
        (("a b", "c"), "space character present in header name"),
        (("a\n", "c"), "control character present in header name"),
        (("a", "b\r\nc"), "carriage return/line feed character present in header value"),
        (("a", 5), "expected unicode object, value of type int found"),
    ],
)
def test_wrong_fields(header: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        checked_headers([header])


def test_right_values() -> None:
    assert checked_status("200 OK") == b"200 OK"
    assert checked_status("200 ") == b"200 "
    assert checked_headers([("A", "é")]) == [(b"A", b"\xe9")]


class Text(str):
    """A str that is of another type."""


PIECES: list[object] = [
    *"aZ0- \t:~",
    "200",
    " OK",
    "X-A",
    "\0",
    "\r",
    "\n",
    "\x7f",
    "\x80",
    "\xe9",
    "€",
    "\x1f",
    "",
]


def random_text(dice: random.Random) -> object:
    """Return a text, or something else."""
    if dice.random() < 0.05:
        return dice.choice([None, 5, b"200 OK"])
    text = "".join(str(each) for each in dice.choices(PIECES, k=dice.randrange(5)))
    return Text(text) if dice.random() < 0.1 else text


def outcome(function: Callable[[object], object], value: object) -> object:
    """Return the result of *function*, or the type and the text of what it raises."""
    try:
        return function(value)
    except (TypeError, ValueError) as problem:
        return type(problem), str(problem)


@pytest.mark.parametrize("seed", range(amount(2, 5)))
def test_usual_values_are_checked_as_all_others(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(1000):
        status = random_text(dice)
        if dice.random() < 0.5 and isinstance(status, str):
            status = "200 " + status
        assert outcome(checked_status, status) == outcome(any_status, status)
        header = dice.choice([(random_text(dice), random_text(dice)), [random_text(dice)] * 2, ("a",), None])
        found = outcome(lambda value: checked_headers([value])[0], header)
        assert found == outcome(checked_header, header)
