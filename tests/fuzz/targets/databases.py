"""DBM files and reports of heartbeats: Damaged alone, no more bytes than the file, what was written is read.

The first byte selects the format.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tests.support.dbm_samples import berkeley, tree
from tests.support.dbm_samples import gdbm as gdbm_file
from whimbrel.modules.support.dbm import bdb, bdb_writer, gdbm, sdbm, sdbm_writer
from whimbrel.modules.support.heartbeats import parse_report

COVERED = (
    "modules/support/dbm/bdb.py",
    "modules/support/dbm/bdb_writer.py",
    "modules/support/dbm/gdbm.py",
    "modules/support/dbm/sdbm.py",
    "modules/support/dbm/sdbm_writer.py",
)
TOKENS = (
    b"\0\0\0\0\x61\x15\x06\0",
    b"\0\x10\0\0",
    b"\xff\xff",
    b"user",
    b"v=1&ready=5&busy=2",
    b"&port=80",
    b"\x0d",
    b"\1\0",
)
READERS = (bdb.pairs, gdbm.pairs, sdbm.pairs)
PAIRS = {b"user": b"{SHA}x", b"other": b"y" * 50}


def seeds() -> Sequence[bytes]:
    pages, _directory = sdbm_writer.files(PAIRS.items())
    return [
        b"\0" + bdb_writer.data_of(PAIRS),
        b"\0" + bdb_writer.data_of({b"k%d" % number: b"v" * number for number in range(60)}),
        b"\2" + pages,
        b"\0" + berkeley(),
        b"\0" + tree(),
        b"\1" + gdbm_file(),
        b"\1\xce\x9a\x57\x13" + bytes(200),
        b"\3v=1&ready=5&busy=2&port=8080",
    ]


def run(data: bytes) -> None:
    kind = data[0] % 4 if data else 0
    content = data[1:]
    if kind == 3:
        parse_report("192.0.2.1", content.decode("latin-1"), 1.0)
        return
    with contextlib.suppress(bdb.Damaged):
        assert sum(len(key) + len(value) for key, value in READERS[kind](content)) <= len(content)
    words = content[:200].split(b"&")
    pairs = {word[:40]: word[40:] for word in words if word}
    if pairs:
        assert dict(bdb.pairs(bdb_writer.data_of(pairs))) == pairs
        with contextlib.suppress(sdbm_writer.Full):
            assert dict(sdbm.pairs(sdbm_writer.files(pairs.items())[0])) == pairs
