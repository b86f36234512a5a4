"""Texts at the boundaries of a pattern: each alternative, each edge of a class, one more and one less
repetition, the other case, and text around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

from whimbrel.access.patterns import classes
from whimbrel.access.patterns.syntax import (
    Anchor,
    Around,
    Capture,
    Chars,
    Choice,
    Irregular,
    Quantified,
    Sequence,
    Tree,
)
from whimbrel.base.latin1 import to_bytes, to_text

MAX_TEXTS: Final = 80
"""Texts that are built from the tree, before they are changed."""
MAX_BOUNDARY: Final = 3000
"""Texts of one pattern with all changes."""
_MAX_LENGTH: Final = 400
_MAX_OF_PART: Final = 12
_OPEN: Final = 0xE000
_CLOSE: Final = 0xE800
_REFERENCE: Final = 0xF000
"""First of the characters that mark groups and references while a text is built."""


def boundary_samples(trees: Iterable[Tree]) -> Iterator[str]:
    """Yield texts at the boundaries of *trees*, each once."""
    yield from dict.fromkeys(chain.from_iterable(islice(_of_tree(tree), MAX_BOUNDARY) for tree in trees))


def _of_tree(tree: Tree) -> Iterator[str]:
    texts = [_resolved(text)[:_MAX_LENGTH] for text in islice(_texts(tree), MAX_TEXTS)]
    yield ""
    yield from texts
    for text in texts:
        yield from (f"x{text}", f"{text}x", f"/{text}", f"{text}/", f"{text}\n", f"x{text}x", _swapped(text))
    for text in texts:
        yield from _changed(text)


def _changed(text: str) -> Iterator[str]:
    """Yield *text* with one character changed, removed or repeated."""
    for at, character in enumerate(text[:60]):
        before = text[:at]
        after = text[at + 1 :]
        yield before + after
        yield before + character * 2 + after
        if _swapped(character) != character:
            yield before + _swapped(character) + after
        yield before + ("x" if character != "x" else "y") + after
    for at in range(min(len(text), 60)):
        yield text[at:]
        yield text[:at]


def _swapped(text: str) -> str:
    """Return *text* with the other case of its ASCII letters."""
    return to_text(to_bytes(text).swapcase())


def _texts(tree: Tree) -> Iterator[str]:
    if isinstance(tree, Chars):
        yield from map(chr, _edges(tree.members))
    elif isinstance(tree, Sequence):
        yield from _in_sequence(tree.parts)
    elif isinstance(tree, Choice):
        parts = [list(islice(_texts(part), 3)) for part in tree.parts[:_MAX_OF_PART]]
        yield from (texts[0] for texts in parts if texts)
        yield from (text for texts in parts for text in texts[1:])
    elif isinstance(tree, Quantified):
        yield from _repeated(tree)
    elif isinstance(tree, Capture):
        marks = chr(_OPEN + tree.number % 0x800), chr(_CLOSE + tree.number % 0x800)
        yield from (marks[0] + text + marks[1] for text in _texts(tree.part))
    elif isinstance(tree, Around):
        yield ""
        if not tree.is_behind:
            yield from islice(_texts(tree.part), 4)
    elif isinstance(tree, Anchor):
        yield ""
    else:
        yield from _of_irregular(tree)


def _of_irregular(tree: Irregular) -> Iterator[str]:
    if tree.number:
        yield chr(_REFERENCE + tree.number % 0x800)
        yield ""
    else:
        yield from _texts(tree.part)


def _in_sequence(parts: tuple[Tree, ...]) -> Iterator[str]:
    """Yield the texts of parts in a row, one part varied at a time."""
    choices = [list(islice(_texts(part), _MAX_OF_PART)) or [""] for part in parts]
    first = [texts[0] for texts in choices]
    yield "".join(first)
    for at, texts in enumerate(choices):
        for text in texts[1:]:
            yield "".join([*first[:at], text, *first[at + 1 :]])


def _repeated(tree: Quantified) -> Iterator[str]:
    least = tree.least
    most = tree.most
    counts = [max(least, 1), least, least + 1, least - 1]
    if most is not None:
        counts += [most, most + 1]
    texts = list(islice(_texts(tree.part), 6)) or [""]
    for count in dict.fromkeys(counts):
        if count >= 0:
            yield texts[0] * min(count, _MAX_LENGTH)
    yield from (text * max(least, 1) for text in texts[1:])


def _edges(members: int) -> list[int]:
    """Return the plainest byte of a set, and the ends of its runs."""
    found = classes.members_of(members)[:1]
    starts = members & ~(members << 1)
    ends = members & ~(members >> 1)
    return list(dict.fromkeys([*found, *classes.members_of((starts | ends) & classes.ANY)]))


def _resolved(text: str) -> str:
    """Return *text* with what groups captured in place of references, without marks."""
    groups: dict[int, str] = {}
    begins: dict[int, int] = {}
    out: list[str] = []
    for character in text:
        code = ord(character)
        if code < _OPEN:
            out.append(character)
        elif code < _CLOSE:
            begins[code - _OPEN] = len(out)
        elif code < _REFERENCE:
            groups[code - _CLOSE] = "".join(out[begins.get(code - _CLOSE, 0) :])
        else:
            out.extend(groups.get(code - _REFERENCE, ""))
        if len(out) > _MAX_LENGTH:
            break
    return "".join(out)
