"""Sizes of objects with all that they refer to."""

from __future__ import annotations

import re
import sys
import types

from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server
from whimbrel.engine.cache.index import ResponseCache
from whimbrel.engine.engine import Engine
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.plan.plan_cache import PlanCache

NOT_OWNED = (
    Engine,
    Plan,
    PlanCache,
    Server,
    Configuration,
    ResponseCache,
    type,
    types.ModuleType,
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
)


def deep_size(root: object, seen: set[int] | None = None) -> int:
    """Return the bytes of *root* and of all that it refers to, without configuration and code."""
    seen, total, left = set() if seen is None else seen, 0, [root]
    while left:
        one = left.pop()
        owner = getattr(one, "__self__", None)
        if isinstance(owner, re.Pattern):  # a method of a compiled pattern
            one = owner
        if id(one) in seen or (one is not root and isinstance(one, NOT_OWNED)):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, dict):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        elif not isinstance(one, str | bytes | bytearray | int | float | re.Pattern):
            left += [
                getattr(one, name)
                for kind in type(one).__mro__
                for name in getattr(kind, "__slots__", ())
                if hasattr(one, name)
            ]
            left += [getattr(one, "__dict__", None)]
    return total
