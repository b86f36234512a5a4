"""Argument shapes: from the text after a directive's name to the calls of its setter.

Arguments are split as httpd does (see tokens.py).  An empty quoted argument counts as missing where a shape
needs one, and ends a list of arguments.  The ``>`` of a container is part of the last argument (or one of its
own); the setter handles it.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_re import compile
from whimbrel.directives.spec import Args
from whimbrel.directives.tokens import getword

_ONE = compile(
    r"""([^ \t\n\v\f\r"'\\]+)|"([^"\\]+)\""""
)  # an argument without special characters, or a quoted one
MAX_ARGV = 64  # httpd drops the arguments beyond this number


def shape(
    args: Args, text: str, *, name: str, help: str = "", iterate_needs_one: bool = True
) -> list[list[str]]:
    """Return the setter calls of one line, as lists of arguments; see `Args` for the shapes.

    *name* and *help* are those of the table: they are part of the ConfigError for a wrong number of
    arguments. Absent arguments are omitted.  *iterate_needs_one* is False for 2.2, where an empty list makes
    no call and is no error.
    """
    if args is Args.ITERATE and not iterate_needs_one:
        return [[word] for word in _until_empty(text)]
    if args is Args.TAKE1 and (plain := _ONE.fullmatch(text)) is not None:
        return [[plain[plain.lastindex or 0]]]  # one argument, as in most lines
    calls = _SHAPES[args](text)
    if calls is None:
        raise ConfigError(f"{name} {_WANTS[args]}" + (f", {help}" if help and args is not Args.FLAG else ""))
    return calls


_WANTS = {
    Args.TAKE1: "takes one argument",
    Args.TAKE2: "takes two arguments",
    Args.TAKE3: "takes three arguments",
    Args.TAKE12: "takes 1-2 arguments",
    Args.TAKE13: "takes one or three arguments",
    Args.TAKE23: "takes two or three arguments",
    Args.TAKE123: "takes one, two or three arguments",
    Args.ITERATE: "requires at least one argument",
    Args.ITERATE2: "requires at least two arguments",
    Args.FLAG: "must be On or Off",
}


def _exactly(text: str, most: int) -> tuple[list[str], str]:
    """Return up to *most* arguments and the remaining text."""
    arguments: list[str] = []
    while len(arguments) < most and text:
        word, text = getword(text)
        arguments.append(word)
    return arguments, text


def _take(needed: int, most: int) -> Callable[[str], list[list[str]] | None]:
    """Return between *needed* and *most* arguments; the needed ones must not be empty."""

    def calls(text: str) -> list[list[str]] | None:
        arguments, left = _exactly(text, most)
        return None if left or len(arguments) < needed or not all(arguments[:needed]) else [arguments]

    return calls


def _take12(text: str) -> list[list[str]] | None:
    """Return one or two arguments; an empty second one counts as absent."""
    arguments = _take(1, 2)(text)
    return [call[:1] if call[-1] == "" else call for call in arguments] if arguments else None


def _take13(text: str) -> list[list[str]] | None:
    """Return one or three arguments; httpd accepts two if the second is empty."""
    arguments = _take(1, 3)(text)
    return None if arguments and len(arguments[0]) == 2 and arguments[0][1] else arguments


def _take_argv(text: str) -> list[list[str]]:
    """Return all arguments; an empty last one is omitted."""
    arguments, left = _exactly(text, MAX_ARGV)
    return [arguments[:-1] if arguments and not arguments[-1] and not left else arguments]


def _until_empty(text: str) -> list[str]:
    arguments = []
    word, text = getword(text)
    while word:
        arguments.append(word)
        word, text = getword(text)
    return arguments


def _iterate(text: str) -> list[list[str]] | None:
    return [[word] for word in _until_empty(text)] or None


def _iterate2(text: str) -> list[list[str]] | None:
    first, text = getword(text)
    return [[first, word] for word in _until_empty(text)] if first and text else None


def _flag(text: str) -> list[list[str]] | None:
    """Words after the first are ignored."""
    word = getword(text)[0].lower()
    return [[word]] if word in ("on", "off") else None


_SHAPES: dict[Args, Callable[[str], list[list[str]] | None]] = {
    Args.RAW_ARGS: lambda text: [[text]],
    Args.TAKE_ARGV: _take_argv,
    Args.NO_ARGS: lambda _text: [[]],  # httpd ignores what is written there
    Args.TAKE1: _take(1, 1),
    Args.TAKE2: _take(2, 2),
    Args.TAKE3: _take(3, 3),
    Args.TAKE12: _take12,
    Args.TAKE13: _take13,
    Args.TAKE23: _take(2, 3),
    Args.TAKE123: _take(1, 3),
    Args.ITERATE: _iterate,
    Args.ITERATE2: _iterate2,
    Args.FLAG: _flag,
}
