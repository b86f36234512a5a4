"""Regular expressions mean the same under every Python that the program supports.

`re` of Python 3.11.0 to 3.11.4 does not restore the position when the group of a possessive repeat, or an
atomic group, fails after it has matched a part. A possessive repeat of one character is exact everywhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from tests.meta.tree import assert_none, sources, walk

POSSESSIVE = re.compile(r"[*+?}]\+|\(\?>")
ONE_CHARACTER = (constants.IN, constants.LITERAL, constants.NOT_LITERAL, constants.ANY)


def inner(item: tuple[Any, Any]) -> Iterator[Any]:
    """Yield the parsed expressions inside *item*."""
    code, argument = item
    pending = [argument]
    while pending:
        value = pending.pop()
        if isinstance(value, parser.SubPattern):
            yield value
        elif isinstance(value, tuple | list):
            pending += value


def has_possessive_group(pattern: Any) -> bool:
    """Return True if a group in the parsed *pattern* is atomic, or repeated possessively."""
    for item in pattern:
        code, argument = item
        if code is constants.ATOMIC_GROUP:
            return True
        if code is constants.POSSESSIVE_REPEAT:
            repeated = argument[2]
            if len(repeated) != 1 or repeated[0][0] not in ONE_CHARACTER:
                return True
        if any(has_possessive_group(part) for part in inner(item)):
            return True
    return False


def is_refused(text: str) -> bool:
    """Return True if *text* is an expression with a possessive group."""
    if not POSSESSIVE.search(text):
        return False
    try:
        return has_possessive_group(parser.parse(text))
    except re.error:  # text of another kind
        return False


def test_no_group_is_possessive() -> None:
    found = []
    for source in sources("src"):
        for node in walk(source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
                if is_refused(text):
                    found.append(f"{source.name}:{node.lineno} {text[:60]}")
    assert_none(found)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (r"(?:[a-z]++: [^\r\n]*+\r\n)*+", True),
        (r"(a(?:b++c)?+)", True),
        (r"(?>ab|a)c", True),
        (r"(?:x|(?:ab){2}+)", True),
        (r"[a-z]*+(?:\.[a-z]++)*", False),
        (r"a?+b++", False),
        ("words() and )*+", False),
    ],
)
def test_possessive_groups_are_found(text: str, refused: bool) -> None:
    assert is_refused(text) is refused
