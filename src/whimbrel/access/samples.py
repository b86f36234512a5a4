"""Strings that match a regular expression or a shell pattern: witnesses for sections with a pattern."""

from __future__ import annotations

import itertools
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from whimbrel.access.patterns import classes
from whimbrel.access.patterns.automaton import DEAD, Alphabet, NoAutomaton, PatternAutomaton, TooLarge
from whimbrel.access.patterns.boundaries import boundary_samples
from whimbrel.access.patterns.syntax import Tree, UnknownSyntax, irregular_part, parse_pattern
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.regex import Regex, RegexError, compile_regex

MAX_SAMPLES: Final = 6
_BYTES: Final = classes.span(1, 255) & ~classes.NEWLINE
_CLASS: Final = re.compile(r"\[[!^]?(.)[^\]]*\]")
_PLAIN: Final = "x0-_./ abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ123456789,:;=+@!#$%&~"


def regex_samples(pattern: str) -> list[str]:
    """Return up to `MAX_SAMPLES` strings that contain a match of *pattern*, the simplest first; none if the
    pattern is invalid."""
    return list(_samples_of(pattern)[0])


def has_unknown_matches(pattern: str) -> bool:
    """Return True if no sample of *pattern* was found, and it is not known that nothing matches it."""
    return _samples_of(pattern)[1]


@lru_cache(maxsize=8192)
def has_unknown_sets(pattern: str) -> bool:
    """Return True if no automaton decides with which other patterns *pattern* matches one text."""
    try:
        return irregular_part(parse_pattern(pattern)) != ""
    except UnknownSyntax:
        return True


@lru_cache(maxsize=8192)
def _samples_of(pattern: str) -> tuple[tuple[str, ...], bool]:
    """Return the samples of *pattern*, and True if there may be others where there is none."""
    try:
        compiled = compile_regex(pattern)
    except RegexError:
        return (), False
    texts = _texts_of_re(pattern)
    found = tuple(_first_matches(compiled, texts))
    if found and not has_unknown_sets(pattern):
        return found, False
    # Python's re has no POSIX classes, reads \\h and \\z otherwise, and its tree has no text for an assertion
    try:
        tree = parse_pattern(pattern)
    except UnknownSyntax:
        return found, not found
    try:
        shortest = _shortest_match(tree)
    except (NoAutomaton, TooLarge):
        found = tuple(_first_matches(compiled, itertools.chain(texts, boundary_samples([tree]))))
        return found, not found
    return tuple(_first_matches(compiled, shortest)), False


def _first_matches(compiled: Regex, texts: Iterable[str]) -> list[str]:
    matching = (text for text in dict.fromkeys(texts) if compiled.search(text) is not None)
    return list(itertools.islice(matching, MAX_SAMPLES))


def _texts_of_re(pattern: str) -> list[str]:
    """Return texts made from the tree that Python's `re` has of *pattern*."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except (re.error, RecursionError, OverflowError):
        return []
    return list(itertools.islice(_sequence(list(tree)), 40))


def _shortest_match(tree: Tree) -> list[str]:
    """Return the shortest text without a newline that the automaton of *tree* accepts, or none."""
    alphabet = Alphabet([tree], _BYTES)
    automaton = PatternAutomaton(tree, alphabet, seconds=float("inf"))  # its effort is bounded
    seen = {automaton.start}
    waiting = deque([(automaton.start, "")])
    while waiting:
        state, text = waiting.popleft()
        if automaton.accepts(state):
            return [text]
        for number, sample in enumerate(alphabet.samples):
            after = automaton.step(state, number)
            if after != DEAD and after not in seen:
                seen.add(after)
                waiting.append((after, text + chr(sample)))
    return []


def wildcard_samples(pattern: str, *, by_segment: bool) -> list[str]:
    """Return strings that the shell pattern matches completely."""
    compiled = compile_fnmatch(pattern, by_segment=by_segment)
    candidates = (
        _CLASS.sub(letter, pattern).replace("*", star).replace("?", "x")
        for star in ("x", "")
        for letter in (r"\1", "x", "a", "0")
    )
    return list(dict.fromkeys(text for text in candidates if compiled.search(text) is not None))


def _sequence(items: list[Any]) -> Iterator[str]:
    """Yield strings for a sequence of items; one choice is varied at a time."""
    choices = [list(itertools.islice(_item(op, value), 4)) or [""] for op, value in items]
    first = [texts[0] for texts in choices]
    yield "".join(first)
    for at, texts in enumerate(choices):
        for text in texts[1:]:
            yield "".join([*first[:at], text, *first[at + 1 :]])


def _item(op: Any, value: Any) -> Iterator[str]:
    kind = str(op)
    if kind == "LITERAL":
        yield chr(value)
    elif kind == "NOT_LITERAL":
        yield next(c for c in _PLAIN if ord(c) != value)
    elif kind == "ANY":
        yield "x"
    elif kind == "IN":
        yield from _one_of(value)
    elif kind == "BRANCH":
        for branch in value[1]:
            yield from itertools.islice(_sequence(list(branch)), 2)
    elif kind == "SUBPATTERN":
        yield from _sequence(list(value[-1]))
    elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        low, high, inner = value
        body = list(itertools.islice(_sequence(list(inner)), 3)) or [""]
        for text in body:
            yield text * max(low, min(1, high))
        if low == 0:
            yield ""
    else:
        yield ""


def _one_of(value: list[Any]) -> Iterator[str]:
    source = "[" + "".join(_class_part(op, arg) for op, arg in value) + "]"
    try:
        test = re.compile(source)
    except re.error:
        return
    yield from (c for c in _PLAIN if test.match(c))


def _class_part(op: Any, arg: Any) -> str:
    kind = str(op)
    if kind == "NEGATE":
        return "^"
    if kind == "LITERAL":
        return re.escape(chr(arg))
    if kind == "RANGE":
        return f"{re.escape(chr(arg[0]))}-{re.escape(chr(arg[1]))}"
    return {
        "CATEGORY_DIGIT": r"\d",
        "CATEGORY_NOT_DIGIT": r"\D",
        "CATEGORY_SPACE": r"\s",
        "CATEGORY_NOT_SPACE": r"\S",
        "CATEGORY_WORD": r"\w",
        "CATEGORY_NOT_WORD": r"\W",
    }.get(str(arg), "")
