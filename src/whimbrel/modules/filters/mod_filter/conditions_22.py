"""Conditions of 2.2's FilterProvider: a criterion (``req=NAME``, ``Content-Type`` ...) and a match
(``$text``, ``/regex/``, ``<10`` ...).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atoi, lower
from whimbrel.directives.command import Command
from whimbrel.modules.filters.mod_filter.handler_name import handler_name
from whimbrel.modules.support.substitution import compiled

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.filters.mod_filter.settings import Test

Value = Callable[["Request"], str | None]
Match = Callable[[str], bool]


def read_condition_22(cmd: Command, criterion: str, match: str) -> Test:
    """Return the condition; raises ConfigError.  The match is read first, as in httpd."""
    negated = match.startswith("!")
    matches = _match(cmd, match[1:] if negated else match)
    value = _value(criterion)

    def test(r: Request) -> bool:
        text = value(r)
        return (text is not None and matches(text)) != negated

    return test


def _value(criterion: str) -> Value:
    """Return the function that reads what *criterion* names."""
    table, equals, name = criterion.partition("=")
    if not equals:
        return handler_name if lower(criterion) == "handler" else _response_value(criterion)
    if lower(table) == "env":
        return lambda r: r.env.get(name)
    if lower(table) == "req":
        return lambda r: r.headers_in.get(name)
    if lower(table) == "resp":
        return _response_value(name)
    raise ConfigError("FilterProvider: unrecognized dispatch table")


def _response_value(name: str) -> Value:
    if lower(name) == "content-type":
        return lambda r: r.content_type

    def value(r: Request) -> str | None:
        found = r.headers_out.get(name)
        return r.err_headers_out.get(name) if found is None else found

    return value


def _match(cmd: Command, text: str) -> Match:
    """Return the test of a value that is present."""
    sign = text[:1]
    rest = text[1:]
    if sign == "/":
        return _regex(cmd, rest)
    if sign == "$":
        part = lower(rest)
        return lambda value: part in lower(value)
    if sign == "*":
        return lambda value: True
    if sign and sign in "<>=":
        return _number(sign, rest)
    expected = lower(text)
    return lambda value: lower(value) == expected


def _number(sign: str, text: str) -> Match:
    """Return the comparison of a value, read as a number, with the number *text*."""
    or_equal = sign != "=" and text.startswith("=")
    number = atoi(text[1:] if or_equal else text)
    if sign == "=":
        return lambda value: atoi(value) == number
    if sign == "<":
        return lambda value: atoi(value) < number + or_equal
    return lambda value: atoi(value) > number - or_equal


def _regex(cmd: Command, text: str) -> Match:
    pattern, slash, flags = text.rpartition("/")
    if not slash:
        raise ConfigError("Bad regexp syntax")
    regex = compiled(cmd, pattern, "Bad regexp", ignore_case="i" in flags)
    return lambda value: regex.search(value) is not None
