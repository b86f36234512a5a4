"""Pages of server-side includes: no exception; in pieces a page has the same elements and the same text.

The first line may set the tags.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from tests.fuzz.push import pieces_of
from whimbrel.modules.filters.mod_include.document import Element, beginning, pieces

COVERED = ("modules/filters/mod_include/document.py",)
TOKENS = (
    b"<!--#",
    b"-->",
    b"echo var=",
    b'"',
    b"'",
    b"`",
    b"\\",
    b"=",
    b" ",
    b"if expr=",
    b"<!-",
    b"--",
    b"\n",
)
TAGS = (("<!--#", "-->"), ("[", "]"), ("<?", "?>"), ("aab", "aac"))
PIECES = 40  # of an input


def seeds() -> Sequence[bytes]:
    pages = [
        *recorded.files("core-ssi", suffix=".shtml"),
        *recorded.files("modules-filters", suffix=".shtml"),
    ]
    written = [
        b'<!--#set var="a" value=\'b "c" \\\' d\' --><!--#echo var=`x` --><!--# -->',
        b"[a b=c]<[",
        b"text <!-- # <!--#",
        b'<!--#a "b" =c -->',
    ]
    return [b"\0" + page for page in [*recorded.few(pages, 60), *written]] + [
        b"\1[a b=c]x[d",
        b"\3aabecho aac aa",
    ]


def run(data: bytes) -> None:
    start, end = TAGS[data[0] % len(TAGS) if data else 0]
    page = data[1:]
    whole = pieces(page, start, end)
    assert all(piece for piece in whole if isinstance(piece, bytes))
    size = max(len(page) // PIECES, 1)
    found: list[bytes | Element] = []
    rest = b""
    for piece in pieces_of(page, size):
        more, rest = beginning(rest + piece, start, end, last=False)
        found += more
    found += pieces(rest, start, end)
    assert _joined(found) == _joined(whole)


def _joined(found: Sequence[bytes | Element]) -> list[bytes | Element]:
    """Join neighbouring texts."""
    out: list[bytes | Element] = []
    for piece in found:
        if isinstance(piece, bytes) and out and isinstance(out[-1], bytes):
            out[-1] += piece
        else:
            out.append(piece)
    return out
