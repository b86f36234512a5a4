"""Directives whose settings nothing reads.

A setter has no effect if its code touches neither record nor command beyond messages, or if the package reads
none of the fields that it assigns. A field counts as read if its name is loaded as an attribute, or handed to
getattr, outside of setters; so a field that shares its name with another one may be missed.
"""

from __future__ import annotations

import ast
import dis
import functools
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from tests.meta.tree import sources, walk
from whimbrel.directives.spec import Setter

# attributes of a command that change nothing
MESSAGES = frozenset(("warn", "name", "node", "place", "dialect"))


def is_without_effect(setter: Setter) -> bool:
    """Return True if nothing reads what *setter* sets."""
    code = getattr(setter, "__code__", None)
    if code is None:
        return False
    fields = assigned(setter, code)
    return not fields & read_names() if fields else not touches(setter, code)


def assigned(setter: Callable[..., Any], code: CodeType) -> set[str]:
    """Return the fields that *setter* assigns; a maker of setters leaves their names in a closure."""
    steps = dis.get_instructions(code)
    fields = {str(step.argval) for step in steps if step.opname in ("STORE_ATTR", "DELETE_ATTR")}
    if "setattr" in code.co_names:
        fields |= {value for value in _closure(setter) if isinstance(value, str) and value.isidentifier()}
    return fields


def touches(setter: Callable[..., Any], code: CodeType) -> bool:
    """Return True if *setter* does anything with its command, but for messages, or with its record."""
    if "setattr" in code.co_names and "" in _closure(setter):
        return False
    names = code.co_varnames[: code.co_argcount]
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("RESUME", "CACHE")]
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if not step.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
            continue
        if step.argval in names[1:2]:
            return True
        attribute = following.argval if following is not None and "ATTR" in following.opname else None
        attribute = following.argval if following is not None and "METHOD" in following.opname else attribute
        if step.argval in names[:1] and attribute not in MESSAGES:
            return True
    return False


def _closure(setter: Callable[..., Any]) -> list[object]:
    return [cell.cell_contents for cell in getattr(setter, "__closure__", None) or ()]


@functools.cache
def read_names() -> frozenset[str]:
    """Return the attribute names that the package reads outside of setters."""
    names: set[str] = set()
    for source in sources("src/whimbrel"):
        names.update(_reads(source.tree, _setters(source.tree)))
    return frozenset(names)


def _setters(tree: ast.Module) -> set[str]:
    """Return the functions that tables of setters name."""
    return {
        value.id
        for node in walk(tree)
        if isinstance(node, ast.Dict)
        for value in node.values
        if isinstance(value, ast.Name)
    }


def _reads(tree: ast.AST, setters: set[str]) -> Iterator[str]:
    """Yield the names that *tree* reads, except those that a setter both reads and assigns."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef) and node.name in setters:
            inner = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)]
            stored = {part.attr for part in inner if not isinstance(part.ctx, ast.Load)}
            yield from {part.attr for part in inner} - stored
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))
        waiting.extend(ast.iter_child_nodes(node))
