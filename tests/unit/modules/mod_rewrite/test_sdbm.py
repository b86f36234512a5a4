"""SDBM pages, written by hand after the format: offsets in front, pairs from the end."""

from __future__ import annotations

import struct
from pathlib import Path

from whimbrel.modules.mod_rewrite.sdbm import PAGE, read_sdbm


def page(pairs: list[tuple[bytes, bytes]]) -> bytes:
    data, offsets = bytearray(PAGE), []
    end = PAGE
    for key, value in pairs:
        for part in (key, value):
            end -= len(part)
            data[end:end + len(part)] = part
            offsets.append(end)
    struct.pack_into(f"<{len(offsets) + 1}h", data, 0, len(offsets), *offsets)
    return bytes(data)


def test_pairs_of_all_pages(tmp_path: Path) -> None:
    path = tmp_path / "m.pag"
    path.write_bytes(page([(b"one", b"/a.txt"), (b"two", b"")]) + bytes(PAGE) + page([(b"k\xe9y", b"v")]))
    assert read_sdbm(str(path)) == {"one": "/a.txt", "two": "", "k\xe9y": "v"}


def test_damaged_pages_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m.pag"
    path.write_bytes(struct.pack("<3h", 2, 5000, 9) + bytes(PAGE - 6) + page([(b"a", b"b")]) + b"cut")
    assert read_sdbm(str(path)) == {"a": "b"}
    assert read_sdbm(str(tmp_path / "none.pag")) == {}
