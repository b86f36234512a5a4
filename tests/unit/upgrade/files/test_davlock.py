"""Lock databases.  The first byte of a key is 10 for an inode and 11 for a name; pages are those of SDBM."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from whimbrel.upgrade.files.davlock import LockDatabase, kind_of, recognize


def page(*keys: bytes) -> bytes:
    """One page of an SDBM file with these keys, each with a value of 40 bytes."""
    offsets, body, end = [], b"", 1024
    for key in keys:
        end -= len(key)
        offsets.append(end)
        end -= 40
        offsets.append(end)
        body = b"v" * 40 + key + body
    head = pack("=h", len(offsets)) + b"".join(pack("=h", offset) for offset in offsets)
    return head + b"\0" * (1024 - len(head) - len(body)) + body


NAME = b"\x0b/srv/site/htdocs/a.txt\0"
INODE = b"\x0a" + pack("=QQ", 4711, 64769)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", LockDatabase.EMPTY),
        (b"\0" * 2048, LockDatabase.EMPTY),
        (page(INODE), LockDatabase.OF_22),
        (page(NAME, INODE), LockDatabase.OF_22),
        (page(NAME), LockDatabase.OF_24),
        (b"junk" * 256, LockDatabase.UNKNOWN),
        (page(b"user"), LockDatabase.UNKNOWN),
        (page(NAME)[:1000], LockDatabase.UNKNOWN),
    ],
)
def test_kinds(data: bytes, kind: LockDatabase) -> None:
    assert kind_of(data) is kind


def test_the_ending_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "DavLock.pag").write_bytes(page(INODE))
    assert recognize(str(tmp_path / "DavLock")) is LockDatabase.OF_22
    assert recognize(str(tmp_path / "DavLock.pag")) is LockDatabase.OF_22
    assert recognize(str(tmp_path / "other")) is LockDatabase.ABSENT
    (tmp_path / "d.pag").mkdir()
    assert recognize(str(tmp_path / "d")) is LockDatabase.UNKNOWN
