"""Regular expressions that are compiled at their first use: a check of a configuration needs few of many."""

from __future__ import annotations

import re

from whimbrel.base.static_typing import Any, AnyStr, cast

_METHODS = (
    "findall",
    "finditer",
    "flags",
    "fullmatch",
    "groupindex",
    "groups",
    "match",
    "pattern",
    "search",
    "split",
    "sub",
    "subn",
)


class _Pattern:
    """Proxy of a compiled expression, whose methods replace its own at the first use."""

    __slots__ = ("_given", *_METHODS)

    def __init__(self, text: Any, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(*self._given)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def compile(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile` at the first use, which raises the error of an invalid expression."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
