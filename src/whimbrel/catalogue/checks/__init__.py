"""Argument rules of modules that are not implemented yet: validation by the directive's own function.

Public: check, check_calls, warning, declares, before, rule_of, CheckContext. The rules of mod_ssl.c are in
mod_ssl.py, imported when a directive of it is first checked. An implemented module has its rules itself.
Must not import: directives, config, registry, modules.
"""

# Tables of a file of rules, by the directive's name in lower case. A rule gets the arguments of one setter
# call (as `directives.shapes` splits them) and a CheckContext.
#   CHECKS: returns httpd's message or None.
#   WARNINGS (optional): returns a CheckWarning or None.
#   DECLARES (optional): returns (group, name) pairs that later rules look up in CheckContext.declared.
# The optional function before(loaded) returns the module's warning before any line is executed.

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from types import ModuleType

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.static_typing import Any, Final
from whimbrel.catalogue.checks.rules import CheckContext, CheckWarning

__all__ = ["CheckContext", "before", "check", "check_calls", "declares", "rule_of", "warning"]


def check_calls(source: str, name: str, calls: Sequence[list[str]], around: CheckContext) -> str | None:
    """Run `check` on the calls of one line; return the first message.  Each call sees the arguments of
    earlier ones.
    """
    earlier: tuple[str, ...] = ()
    for words in calls:
        if message := check(source, name, words, replace(around, earlier=earlier) if earlier else around):
            return message
        earlier += tuple(words)
    return None


def check(source: str, name: str, words: list[str], around: CheckContext) -> str | None:
    """Return httpd's message about one call's *words* of directive *name* in module *source* (``mod_ssl.c``),
    or None.

    None also means that no rule is known.  The arguments of a RAW_ARGS directive are one text.
    """
    rule = _table(source, "CHECKS").get(name.lower())
    return rule(words, around) if rule else None


def warning(source: str, name: str, words: list[str], around: CheckContext) -> CheckWarning | None:
    """Return the warning about one call's arguments that are accepted, or None."""
    warner = _table(source, "WARNINGS").get(name.lower())
    return warner(words, around) if warner else None


def declares(source: str, name: str, words: list[str], around: CheckContext) -> list[tuple[str, str]]:
    """Return the (group, name) pairs that one call declares for later lines."""
    declarer = _table(source, "DECLARES").get(name.lower())
    return declarer(words, around) if declarer else []


def rule_of(source: str, name: str) -> bool:
    """Return True if there is a rule of the directive *name* (in lower case)."""
    return any(name in _table(source, table) for table in ("CHECKS", "WARNINGS", "DECLARES"))


def before(source: str, loaded: AbstractSet[str]) -> CheckWarning | None:
    """Return a loaded module's warning before any line is executed; *loaded* are the identifiers of all."""
    make_warning = getattr(_file(source), "before", None)
    return make_warning(loaded) if make_warning else None


def _table(source: str, table: str) -> dict[str, Any]:
    """Return a table of one module, or {}."""
    table_found: dict[str, Any] = getattr(_file(source), table, _NONE)
    return table_found


@cache
def _file(source: str) -> ModuleType | None:
    """Return the file of rules of one module."""
    name = f"{__name__}.{source.removesuffix('.c')}"
    if name.rpartition(".")[2] not in _names():
        return None
    __import__(name)
    return sys.modules[name]


@cache
def _names() -> frozenset[str]:
    """Return the names of the files of rules."""
    return frozenset(name.partition(".")[0] for directory in __path__ for name in os.listdir(directory))


_NONE: Final[dict[str, Any]] = {}
