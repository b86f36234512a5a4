"""Reading SDBM files (.pag): pages of 1,024 bytes, each with a table of offsets in front and its pairs at the end."""

from __future__ import annotations

import struct
from typing import Final

from whimbrel.octets import raw, text

PAGE: Final = 1024


def read_sdbm(path: str) -> dict[str, str]:
    """All pairs of the file; damaged pages are left out, a file that can't be read has none."""
    try:
        with open(raw(path), "rb") as file:
            content = file.read()
    except OSError:
        return {}
    pairs: dict[str, str] = {}
    for start in range(0, len(content) - PAGE + 1, PAGE):
        for key, value in _pairs(content[start:start + PAGE]):
            pairs.setdefault(text(key), text(value))
    return pairs


def _pairs(page: bytes) -> list[tuple[bytes, bytes]]:
    """The pairs of one page: the first number counts offsets, which come in twos and fall from the page's end."""
    count = struct.unpack_from("<h", page)[0]
    if not 0 < count <= PAGE // 2 - 1 or count % 2:
        return []
    offsets = struct.unpack_from(f"<{count}h", page, 2)
    out, end = [], PAGE
    for key_at, value_at in zip(offsets[::2], offsets[1::2], strict=True):
        if not 2 <= value_at <= key_at <= end:
            return []
        out.append((page[key_at:end], page[value_at:key_at]))
        end = value_at
    return out
