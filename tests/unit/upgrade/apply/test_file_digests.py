"""The digest of the lines of a file: a comment, as httpd reads it, leaves it alone."""

from __future__ import annotations

import hashlib

import pytest

from whimbrel.upgrade.apply.file_digests import FileDigests


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        (b"Timeout 60\n", b"# whimbrel: ignore[C17]\n\n  Timeout 60\r\n", True),
        (b"Timeout 60\n", b"Timeout 61\n", False),
        (b"Timeout 60\n", b"#Timeout 60\n", False),
        # a comment that a backslash continues takes the next line with it
        (b"# a\nTimeout 60\n", b"# a\\\nTimeout 60\n", False),
        (b"AddType a/b \\\n# c\n", b"AddType a/b \\\n", False),
        (b"Require all granted\n", b"Require all granted # x\n", False),
        (b"a\nb\n", b"b\na\n", False),
        (b"a", b"a\\", False),
    ],
)
def test_lines_without_comments(old: bytes, new: bytes, is_same: bool) -> None:
    one = FileDigests.of(old)
    other = FileDigests.of(new)
    assert (one.lines == other.lines) is is_same
    assert one.data == hashlib.sha256(old).hexdigest() != other.data
