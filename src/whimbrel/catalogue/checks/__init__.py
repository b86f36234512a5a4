"""Argument rules of modules that have no file of their own yet: what a directive's function says about words of the right number.

One file per source file of httpd (mod_ssl.py for mod_ssl.c), loaded when a directive of it is first checked.  Each has a table `CHECKS`: the
directive's name in lower case -> a rule, which gets the words of one setter call (as `directives.shapes` makes them) and what stands
`Around`, and gives httpd's message or None.  When a module gets its own file, its rules move there and its file here goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from whimbrel.catalogue.checks.rules import Around, Rule

__all__ = ["Around", "check", "check_calls"]


def check_calls(source: str, name: str, calls: Sequence[list[str]], around: Around) -> str | None:
    """What `check` says about the calls that one line makes, the first message counting; each call knows the words of those before it."""
    earlier: tuple[str, ...] = ()
    for words in calls:
        if message := check(source, name, words, replace(around, earlier=earlier) if earlier else around):
            return message
        earlier += tuple(words)
    return None


def check(source: str, name: str, words: list[str], around: Around) -> str | None:
    """What the directive *name* of the module *source* (``mod_ssl.c``) says about one call's *words*: httpd's message, or None.

    None also stands for "no rule is known".  Words of a RAW_ARGS directive are the one unsplit text.
    """
    rule = _rules(source.removesuffix(".c")).get(name.lower())
    return rule(words, around) if rule else None


@cache
def _rules(module: str) -> dict[str, Rule]:
    """The table of one module, {} where there is none."""
    name = f"{__name__}.{module}"
    return dict(import_module(name).CHECKS) if find_spec(name) else {}
