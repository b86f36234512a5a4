"""Argument rules of modules that have no file of their own yet: what a directive's function says about words of the right number.

One file per source file of httpd (mod_ssl.py for mod_ssl.c), loaded when a directive of it is first checked.  Each has a table `CHECKS`: the
directive's name in lower case -> a rule, which gets the words of one setter call (as `directives.shapes` makes them) and what stands
`Around`, and gives httpd's message or None.  It may have further tables of the same kind: `WARNINGS` (a rule gives a `Said` or None) and `DECLARES`
(a rule gives the (group, name) pairs that later rules may look for in `Around.declared`); and `before(loaded)`, what the module says before any line
is executed.  When a module gets its own file, its rules move there and its file here goes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue.checks.rules import CheckContext, CheckWarning

__all__ = ["CheckContext", "before", "check", "check_calls", "declares", "rule_of", "warning"]


def check_calls(source: str, name: str, calls: Sequence[list[str]], around: CheckContext) -> str | None:
    """What `check` says about the calls that one line makes, the first message counting; each call knows the words of those before it."""
    earlier: tuple[str, ...] = ()
    for words in calls:
        if message := check(source, name, words, replace(around, earlier=earlier) if earlier else around):
            return message
        earlier += tuple(words)
    return None


def check(source: str, name: str, words: list[str], around: CheckContext) -> str | None:
    """What the directive *name* of the module *source* (``mod_ssl.c``) says about one call's *words*: httpd's message, or None.

    None also stands for "no rule is known".  Words of a RAW_ARGS directive are the one unsplit text.
    """
    rule = _table(source, "CHECKS").get(name.lower())
    return rule(words, around) if rule else None


def warning(source: str, name: str, words: list[str], around: CheckContext) -> CheckWarning | None:
    """What the directive says about one call's words although it takes them."""
    warner = _table(source, "WARNINGS").get(name.lower())
    check_warning: CheckWarning | None = warner(words, around) if warner else None
    return check_warning


def declares(source: str, name: str, words: list[str], around: CheckContext) -> list[tuple[str, str]]:
    """The (group, name) pairs that one call makes known to later lines."""
    declarer = _table(source, "DECLARES").get(name.lower())
    pairs: list[tuple[str, str]] = declarer(words, around) if declarer else []
    return pairs


def rule_of(source: str, name: str) -> bool:
    """Whether there is anything to ask about the directive *name* (in lower case)."""
    return any(name in _table(source, table) for table in ("CHECKS", "WARNINGS", "DECLARES"))


def before(source: str, loaded: AbstractSet[str]) -> CheckWarning | None:
    """What a loaded module says before any line is executed; *loaded* are the identifiers of all."""
    make_warning = getattr(_file(source), "before", None)
    check_warning: CheckWarning | None = make_warning(loaded) if make_warning else None
    return check_warning


def _table(source: str, table: str) -> dict[str, Any]:
    """A table of one module, {} where there is none."""
    table_found: dict[str, Any] = getattr(_file(source), table, _NONE)
    return table_found


@cache
def _file(source: str) -> ModuleType | None:
    """The file of rules of one module."""
    name = f"{__name__}.{source.removesuffix('.c')}"
    return import_module(name) if name.rpartition(".")[2] in _names() else None


@cache
def _names() -> frozenset[str]:
    """What files there are."""
    return frozenset(name.partition(".")[0] for directory in __path__ for name in os.listdir(directory))


_NONE: Final[dict[str, Any]] = {}
