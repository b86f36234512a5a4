"""The regular expressions of the package, with the methods that search with them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.meta.tree import PACKAGE, sources, walk
from whimbrel.base import lazy_re

METHODS = ("search", "match", "fullmatch", "sub", "subn", "finditer", "findall", "split")


@dataclass(frozen=True)
class Expression:
    """One expression; *place* is its module and its name or line."""

    place: str
    pattern: str | bytes
    flags: int
    method: str


@cache
def _uses() -> dict[tuple[str, str], set[str]]:
    """Return the methods that are called on each name in each file, and on public names anywhere ("")."""
    uses: dict[tuple[str, str], set[str]] = {}
    for source in sources("src"):
        for name, method in re.findall(rf"\b(\w+)\.({'|'.join(METHODS)})\b", source.text):
            uses.setdefault((str(source.path) if name.startswith("_") else "", name), set()).add(method)
    return uses


def _of_module(name: str, module: Any) -> Iterator[Expression]:
    for key, value in vars(module).items():
        bound = getattr(value, "__self__", None)
        if isinstance(bound, re.Pattern):
            yield Expression(f"{name}:{key}", bound.pattern, bound.flags, value.__name__)
        elif isinstance(value, re.Pattern | lazy_re._Pattern):
            file = str(module.__file__) if key.startswith("_") else ""
            for method in _uses().get((file, key), {"match"}):  # those in tables are called so
                yield Expression(f"{name}:{key}", value.pattern, value.flags, method)


def _inline(name: str, tree: ast.Module) -> Iterator[Expression]:
    """Yield the expressions that are constants of a call `re.method(...)`."""
    for node in walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in METHODS
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            text: Any = node.args[0].value
            words = " ".join(ast.unparse(each) for each in (*node.args, *node.keywords))
            flags = re.DOTALL if re.search(r"re\.(?:S|DOTALL)\b", words) else re.NOFLAG
            yield Expression(f"{name}:{node.lineno}", text, flags, node.func.attr)


def expressions() -> list[Expression]:
    """Return the expressions of all modules, each once."""
    found: dict[tuple[Any, ...], Expression] = {}
    trees = {source.path: source.tree for source in sources("src")}
    for info in pkgutil.walk_packages([str(PACKAGE)], "whimbrel."):
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # a package that this machine does not have
            continue
        tree = trees[Path(str(module.__file__))]
        for each in (*_of_module(info.name, module), *_inline(info.name, tree)):
            found.setdefault((each.pattern, each.flags, each.method), each)
    return list(found.values())
