"""DBM files of users, made by httpd's htdbm: alice with the password wonder, bob with builder."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from struct import pack_into
from zlib import decompress

ALICE, BOB = b"{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=", b"{SHA}9SMYoF5RilWWASry7TjeaKwmpGg="


def page(*pairs: tuple[bytes, bytes]) -> bytes:
    """Return an SDBM page."""
    out, end, offsets = bytearray(1024), 1024, []
    for pair in pairs:
        for piece in pair:
            out[end - len(piece) : end] = piece
            end -= len(piece)
            offsets.append(end)
    pack_into(f"={len(offsets) + 1}h", out, 0, len(offsets), *offsets)
    return bytes(out)


def write_sdbm(path: Path, *pairs: tuple[bytes, bytes]) -> None:
    """Write a .pag and an empty .dir file."""
    path.with_suffix(".pag").write_bytes(page(*pairs))
    path.with_suffix(".dir").write_bytes(b"")


# htdbm -cbsTDB: the parts of a Berkeley DB hash file of three pages of 4096 bytes that are not zero
BERKELEY = {
    0x0000: "AAAAAAEAAAAAAAAAYRUGAAkAAAAAEAAAAAgAAAAAAAACAAAAAAAAAAAAAAAAAAAAAAAAAG/wIAAA/gAAridLdw==",
    0x1000: "AAAAAAEAAAABAAAAAAAAAAAAAAACANgPAA36D9gP",
    0x1FD8: "AXtTSEF9dzNRa3pHSnN3RFhXNU9LWkhBSncwRkVMamZNPQFhbGljZQ==",
}


def berkeley() -> bytes:
    """Return a file that holds alice."""
    out = bytearray(3 * 4096)
    for start, encoded in BERKELEY.items():
        data = b64decode(encoded)
        out[start : start + len(data)] = data
    return bytes(out)


# htdbm -cbsTGDBM, compressed: alice and bob
GDBM = (
    "eNrt2MsKAVEAh/GDLKwoL8DGWkmyIFMu0yAxarBDyC1iMS55EQ/gESy9gmexJ8bMLK2mlMv3q9OXP53F7MZ5rwVFQAjzCKs+u4dnM9Z8FQAAAAAA4GuFKKWUUkoppZRS+u"
    "t12R+PfqtK9H1/NbiNcze8+u5X9/TpUurMOiJiP1ePccIO7rmp51V7MuwK+x6vw3vY2dnZ2dnZ2dnZ2dnZ/3N/vlP2tqos7fRYdbwpKEs929DilWJLlhQ9ms+VRv1yyniD"
    "NX+TVMvNWT5eG040TVIX60R91GsX9em8MEgJAAAAAADwoR726fTr"
)
# a B-tree of Berkeley DB 5.3, made by Perl's DB_File, compressed: alice
TREE = (
    "eNrt180KAWEUxvHnnXoXsxqXYO6AZGkx5WMaJFmQskDUYKdMkYtwJcq1zMVYCQ2Rsmbx/9XpnJ7TuYAjSUaZSdHKvQ+5W7lZ9ty9Owa+dJHiw2kTj1658+j5L3cAAAAAAO"
    "B3zMe/7ij1jD17qcf/DwAAAADAv/Jldr0w2Cel7nLbiNZJddAvd5rDMIiSQr3WWszbFSszXsXT2RWDGhrl"
)


def gdbm() -> bytes:
    """Return a GDBM file that holds alice and bob."""
    return decompress(b64decode(GDBM))


def tree() -> bytes:
    """Return a B-tree that holds alice."""
    return decompress(b64decode(TREE))
