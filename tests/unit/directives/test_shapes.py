"""Argument shapes.  Expected messages and calls: those of 2.4.71 and 2.2.34."""

from __future__ import annotations

import pytest

from whimbrel.base.errors import ConfigError
from whimbrel.directives.shapes import shape
from whimbrel.directives.spec import Args

FINE: list[tuple[Args, str, list[list[str]]]] = [
    (Args.RAW_ARGS, '"a b"  c', [['"a b"  c']]),
    (Args.RAW_ARGS, "", [[""]]),
    (Args.NO_ARGS, "", [[]]),
    (Args.NO_ARGS, "extra1", [[]]),
    (Args.TAKE1, '"a b"', [["a b"]]),
    (Args.TAKE1, "mod_so.c>", [["mod_so.c>"]]),
    (Args.TAKE2, "a b", [["a", "b"]]),
    (Args.TAKE3, "a b c", [["a", "b", "c"]]),
    (Args.TAKE12, "a", [["a"]]),
    (Args.TAKE12, "a b", [["a", "b"]]),
    (Args.TAKE12, 'a ""', [["a"]]),
    (Args.TAKE13, "a", [["a"]]),
    (Args.TAKE13, "a b c", [["a", "b", "c"]]),
    (Args.TAKE23, "a b", [["a", "b"]]),
    (Args.TAKE23, 'a b ""', [["a", "b", ""]]),
    (Args.TAKE123, ">= 2.4>", [[">=", "2.4>"]]),
    (Args.TAKE123, "a b c", [["a", "b", "c"]]),
    (Args.TAKE_ARGV, "", [[]]),
    (Args.TAKE_ARGV, 'a "" "b c"', [["a", "", "b c"]]),
    (Args.TAKE_ARGV, 'a ""', [["a"]]),
    (Args.TAKE_ARGV, "x " * 70, [["x"] * 64]),
    (Args.ITERATE, "a b c", [["a"], ["b"], ["c"]]),
    (Args.ITERATE, 'a "" c', [["a"]]),
    (Args.ITERATE2, "t a b", [["t", "a"], ["t", "b"]]),
    (Args.ITERATE2, 't ""', []),
    (Args.FLAG, "ON", [["on"]]),
    (Args.FLAG, "off On # x", [["off"]]),
]

REFUSED: list[tuple[Args, str, str]] = [
    (Args.TAKE1, "", "X takes one argument, help"),
    (Args.TAKE1, '""', "X takes one argument, help"),
    (Args.TAKE1, "a b", "X takes one argument, help"),
    (Args.TAKE1, 'a ""', "X takes one argument, help"),
    (Args.TAKE1, '"a"b', "X takes one argument, help"),
    (Args.TAKE2, "a", "X takes two arguments, help"),
    (Args.TAKE2, 'a ""', "X takes two arguments, help"),
    (Args.TAKE2, "a b c", "X takes two arguments, help"),
    (Args.TAKE3, "a b", "X takes three arguments, help"),
    (Args.TAKE12, "", "X takes 1-2 arguments, help"),
    (Args.TAKE12, '"" b', "X takes 1-2 arguments, help"),
    (Args.TAKE12, "a b c", "X takes 1-2 arguments, help"),
    (Args.TAKE13, "a b", "X takes one or three arguments, help"),
    (Args.TAKE13, "a b c d", "X takes one or three arguments, help"),
    (Args.TAKE23, "a", "X takes two or three arguments, help"),
    (Args.TAKE23, 'a "" c', "X takes two or three arguments, help"),
    (Args.TAKE23, "a b c d", "X takes two or three arguments, help"),
    (Args.TAKE123, '"">', "X takes one, two or three arguments, help"),
    (Args.TAKE123, "a b c d", "X takes one, two or three arguments, help"),
    (Args.ITERATE, "", "X requires at least one argument, help"),
    (Args.ITERATE, '"" b', "X requires at least one argument, help"),
    (Args.ITERATE2, "a", "X requires at least two arguments, help"),
    (Args.ITERATE2, '"" b', "X requires at least two arguments, help"),
    (Args.FLAG, "", "X must be On or Off"),
    (Args.FLAG, "true", "X must be On or Off"),
    (Args.FLAG, '"" On', "X must be On or Off"),
]


@pytest.mark.parametrize(("args", "text", "calls"), FINE)
def test_calls(args: Args, text: str, calls: list[list[str]]) -> None:
    assert shape(args, text, name="X", help="help") == calls


@pytest.mark.parametrize(("args", "text", "message"), REFUSED)
def test_a_wrong_number_of_words(args: Args, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        shape(args, text, name="X", help="help")
    assert caught.value.reason == message


def test_a_directive_without_help_has_a_short_message() -> None:
    with pytest.raises(ConfigError, match=r"takes one argument$"):
        shape(Args.TAKE1, "", name="CookieLog")


@pytest.mark.parametrize("text", ["", '""', '"" b'])
def test_22_calls_nothing_for_an_empty_list(text: str) -> None:
    assert shape(Args.ITERATE, text, name="X", iterate_needs_one=False) == []


def test_every_shape_is_covered_here() -> None:
    assert {args for args, _, _ in FINE} == set(Args)
