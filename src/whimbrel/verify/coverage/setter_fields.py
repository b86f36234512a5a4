"""Fields of records that a setter of a directive names, found in its code: for values that equal a default.

A line that sets what is set already leaves no origin (`config.origins`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Final

_MAX_DEPTH: Final = 4
"""Functions within functions that are looked into."""


@cache
def names_in(function: object) -> frozenset[str]:
    """Return the attributes, texts and keywords in the code of *function* and of the functions it uses."""
    return frozenset(_names(function, 0, set()))


def _names(value: object, depth: int, seen: set[int]) -> Iterator[str]:
    if depth > _MAX_DEPTH or id(value) in seen:
        return
    if isinstance(value, str):
        yield value
        return
    seen.add(id(value))
    if isinstance(value, partial):
        for inner in (value.func, *value.args, *value.keywords.values()):
            yield from _names(inner, depth + 1, seen)
        yield from value.keywords
    elif isinstance(value, MethodType):
        yield from _names(value.__func__, depth, seen)
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            yield from _names(cell.cell_contents, depth + 1, seen)
        yield from _of_code(value.__code__, value, depth, seen)
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _names(inner, depth, seen)


def _of_code(code: CodeType, function: FunctionType, depth: int, seen: set[int]) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant, function, depth, seen)
        else:
            yield from _names(constant, depth, seen)
    for name in code.co_names:
        used = function.__globals__.get(name)
        if isinstance(used, FunctionType) and used.__module__ == function.__module__:
            yield from _names(used, depth + 1, seen)
