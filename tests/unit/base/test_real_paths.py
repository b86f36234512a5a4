"""Paths without links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.base.real_paths import without_links


def test_links_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert without_links(str(tmp_path / "link/x")) == os.path.realpath(tmp_path / "there/x")


def test_a_link_that_cannot_be_read_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of /proc for other users."""
    (tmp_path / "link").symlink_to(tmp_path / "there")

    def refuse(path: bytes) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "readlink", refuse)
    name = os.fsencode(tmp_path / "link/../x")
    assert without_links(name) == os.fsencode(tmp_path / "x")
