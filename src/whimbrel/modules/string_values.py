"""String expressions (`AP_EXPR_FLAG_STRING_RESULT`): the texts in which 2.4 expands ``%{...}``.

Manual: expr.html.  Texts without variables are constants and cost nothing at request time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from whimbrel.errors import ConfigError
from whimbrel.request.record import Request

_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)|\$[0-9]", re.DOTALL)
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Text:
    """A value: *constant*, or what *of* makes of a request."""

    constant: str | None
    of: Callable[[Request], str]


def constant_text(value: str) -> Text:
    """A value that is always the same."""
    return Text(value, lambda r: value)


def compile_text(written: str) -> Text:
    """The string expression *written*; raises ConfigError where it holds variables or functions."""
    if "%{" in written:
        raise ConfigError(f"variables and functions ('%{{...}}') are not supported here: '{written}'")
    return constant_text(_ESCAPE.sub(_unescaped, written))


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if escape is None:
        return ""  # a back reference where no regular expression has matched
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 255)
    return _NAMED.get(escape, escape)
