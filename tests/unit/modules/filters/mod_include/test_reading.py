"""Documents that are read in pieces."""

from __future__ import annotations

import asyncio

import pytest

from whimbrel.engine.body import JoinedSource
from whimbrel.modules.filters.mod_include.document import Element, ElementFault, Piece
from whimbrel.modules.filters.mod_include.reading import MAX_ELEMENT, Document
from whimbrel.modules.filters.mod_include.settings import IncludeServerConfig

LONG = b'<!--#set var="a" value="' + b"x" * (MAX_ELEMENT + 70_000)


def pieces_of(*parts: bytes) -> list[Piece]:
    """Return all pieces of a document that comes in *parts*."""

    async def read() -> list[Piece]:
        document = Document(JoinedSource(parts), IncludeServerConfig("<!--#", "-->"))
        found: list[Piece] = []
        while (more := await document.more()) is not None:
            found += more
        return found

    return asyncio.run(read())


def cut(data: bytes, size: int) -> list[bytes]:
    """Return *data* in pieces of *size* bytes."""
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1 << 20, 65_536, 5_003])
@pytest.mark.parametrize("end", [b'" -->after', b'" --' + b">after"])
def test_nothing_of_an_element_that_is_too_long_is_sent(size: int, end: bytes) -> None:
    found = pieces_of(b"before", *cut(LONG, size), *cut(end, 4))
    text = b"".join(piece for piece in found if isinstance(piece, bytes))
    assert text == b"beforeafter"
    (element,) = [piece for piece in found if isinstance(piece, Element)]
    assert ElementFault.UNFINISHED in element.faults


def test_element_that_is_too_long_and_never_ends_is_one_fault() -> None:
    found = pieces_of(b"before", *cut(LONG * 3, 65_536))
    assert b"".join(piece for piece in found if isinstance(piece, bytes)) == b"before"
    assert len([piece for piece in found if isinstance(piece, Element)]) == 1
