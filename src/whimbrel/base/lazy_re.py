"""Regular expressions that are compiled when they are first asked: a check of a configuration needs a few of
many, and compiling takes its time.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

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
    """Stands for a compiled expression, whose methods become its own at the first use of one."""

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
    """As `re.compile`; an expression that is wrong is told at the first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
