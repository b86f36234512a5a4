"""Reader of SDBM files, as htdbm and httxt2dbm write them: pairs of byte strings in pages of 1024 bytes.

A page starts with the number of its offsets and the offsets themselves, 16-bit numbers in native byte order.
Keys and values are stored in turn from the page's end downwards.  All pages are read, so no key is hashed.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from
from typing import Final

PAGE: Final = 1024
_MAX_PAGES: Final = PAGE // 2 - 1


def pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a .pag file's bytes; damaged and truncated pages are skipped, as in httpd."""
    for start in range(0, len(data) - PAGE + 1, PAGE):
        yield from _page(data[start : start + PAGE])


def _page(page: bytes) -> Iterator[tuple[bytes, bytes]]:
    count = unpack_from("=h", page)[0]
    if count <= 0 or count > _MAX_PAGES or count % 2:
        return
    offsets = unpack_from(f"={count}h", page, 2)
    end = PAGE
    pairs: list[tuple[bytes, bytes]] = []
    for key, value in zip(offsets[::2], offsets[1::2], strict=True):
        if not 2 * count + 2 <= value <= key <= end:
            return
        pairs.append((page[key:end], page[value:key]))
        end = value
    yield from pairs
