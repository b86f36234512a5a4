"""Names of directories that are read once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.engine.deps import listings
from whimbrel.engine.deps.listings import MAX_LISTINGS, MAX_NAMES, DirectoryListing, DirectoryListings


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time of change is long ago, and a directory may be read at any time."""
    monkeypatch.setattr(listings, "is_settled_file", lambda _info: True)
    monkeypatch.setattr(listings, "RETRY", 0.0)


def test_a_missing_name_is_known_until_the_directory_changes(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    os.utime(tmp_path, (1000, 1000))
    listing = DirectoryListing(bytes(tmp_path) + b"/")
    assert listing.lacks(b"b", 1) and not listing.lacks(b"a", 1)
    (tmp_path / "b").write_text("")
    assert not listing.lacks(b"b", 2)
    (tmp_path / "b").unlink()
    assert listing.lacks(b"b", 3)
    (tmp_path / "a").unlink()
    tmp_path.rmdir()
    assert not listing.lacks(b"a", 4)


def test_a_directory_that_may_be_changing_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listings, "is_settled_file", lambda _info: False)
    assert not DirectoryListing(bytes(tmp_path)).lacks(b"b", 1)


def test_large_directories_have_no_listing(tmp_path: Path) -> None:
    for number in range(MAX_NAMES + 1):
        (tmp_path / str(number)).touch()
    assert not DirectoryListing(bytes(tmp_path)).lacks(b"none", 1)
    (tmp_path / "0").unlink()
    assert DirectoryListing(bytes(tmp_path)).lacks(b"none", 1)
    (tmp_path / "1").rename(tmp_path / ("n" * 200))
    for number in range(2, 50):
        (tmp_path / str(number)).rename(tmp_path / (f"{number}" + "n" * 200))
    assert not DirectoryListing(bytes(tmp_path)).lacks(b"none", 1)


def test_listings_are_bounded(tmp_path: Path) -> None:
    known = DirectoryListings()
    for number in range(3 * MAX_LISTINGS):
        assert known.get(b"/%d" % number) is known.get(b"/%d" % number)
        assert len(known._listings) <= MAX_LISTINGS
