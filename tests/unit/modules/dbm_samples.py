"""DBM files of users, made by httpd's htdbm: alice with the password wonder, bob with builder."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from struct import pack_into

ALICE, BOB = b"{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=", b"{SHA}9SMYoF5RilWWASry7TjeaKwmpGg="


def page(*pairs: tuple[bytes, bytes]) -> bytes:
    """An SDBM page as its format says."""
    out, end, offsets = bytearray(1024), 1024, []
    for pair in pairs:
        for piece in pair:
            out[end - len(piece):end] = piece
            end -= len(piece)
            offsets.append(end)
    pack_into(f"={len(offsets) + 1}h", out, 0, len(offsets), *offsets)
    return bytes(out)


def write_sdbm(path: Path, *pairs: tuple[bytes, bytes]) -> None:
    """A .pag and an empty .dir file."""
    path.with_suffix(".pag").write_bytes(page(*pairs))
    path.with_suffix(".dir").write_bytes(b"")


# htdbm -cbsTDB: the parts of a Berkeley DB hash file of three pages of 4096 bytes that are not zero
BERKELEY = {
    0x0000: "AAAAAAEAAAAAAAAAYRUGAAkAAAAAEAAAAAgAAAAAAAACAAAAAAAAAAAAAAAAAAAAAAAAAG/wIAAA/gAAridLdw==",
    0x1000: "AAAAAAEAAAABAAAAAAAAAAAAAAACANgPAA36D9gP",
    0x1fd8: "AXtTSEF9dzNRa3pHSnN3RFhXNU9LWkhBSncwRkVMamZNPQFhbGljZQ==",
}


def berkeley() -> bytes:
    """The file that holds alice."""
    out = bytearray(3 * 4096)
    for start, encoded in BERKELEY.items():
        data = b64decode(encoded)
        out[start:start + len(data)] = data
    return bytes(out)
