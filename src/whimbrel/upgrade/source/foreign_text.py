"""Detection of files that are no httpd configuration: programs, prose, lists.

An upgrade reports them and does not edit them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from whimbrel.catalogue.load import is_of_httpd
from whimbrel.syntax.tree import Directive, Document, Node, Section

CAMEL_CASE: Final = re.compile(
    r"[A-Z]+[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*|php_\w+|[A-Z]{2,}_[A-Z]\w*|(?:If|Perl|Lua)\w*"
)
"""The form of directive names of third-party modules."""
WORD: Final = re.compile(r"[A-Za-z]\w*")
MIN_SHARE: Final = 0.2
MIN_NAMES: Final = 5
WRITTEN_LINE: Final = re.compile(rb"^[ \t]*[^#\s]", re.MULTILINE)
MIN_BLOCK_LINES: Final = 3


def is_block_line(line: bytes) -> bool:
    """Return True for a line of a language with braces and semicolons, such as that of nginx."""
    text = line.strip(b" \t\r")
    if text[:1] == b"}":
        return text[1:].strip(b" \t") in (b"", b";")
    return len(text) > 1 and text[:1] != b"#" and text[-1:] in (b";", b"{")


def is_foreign(document: Document) -> bool:
    """Return True if hardly any name in *document* is that of a directive, or most lines end as in nginx."""
    data = document.bytes
    may_have_blocks = b";" in data or b"{" in data or b"}" in data
    blocks = sum(map(is_block_line, data.split(b"\n"))) if may_have_blocks else 0
    if blocks >= MIN_BLOCK_LINES and 2 * blocks > len(WRITTEN_LINE.findall(data)):
        return True
    names = [name.removeprefix("\xef\xbb\xbf") for name in _names(document.children)]
    known = sum(map(_is_plausible, names))
    if len(names) >= MIN_NAMES:
        return known <= MIN_SHARE * len(names)
    return not known and not all(WORD.fullmatch(name.removeprefix("<")) for name in names)


def _names(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Directive):
            yield node.name
        elif isinstance(node, Section):
            yield f"<{node.name}"
            yield from _names(node.children)


@cache
def _is_plausible(name: str) -> bool:
    return is_of_httpd(name) or CAMEL_CASE.fullmatch(name.removeprefix("<")) is not None
