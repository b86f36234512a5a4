"""PROPFIND of large directories: bounded memory, one sub-request for each class of names, cancellation."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.client import error_log, fetch
from tests.support.engine import build_engine

from whimbrel.engine.body import Aborted
from whimbrel.modules.dav.mod_dav import properties
from whimbrel.modules.dav.mod_dav.propfind import GATHERED, Listing

CONF = """
LoadModule dav_module modules/mod_dav.so
LoadModule dav_fs_module modules/mod_dav_fs.so
DavLockDB @/locks
<Directory @/htdocs>
Dav On
</Directory>
%s
"""


def make(root: Path, count: int) -> None:
    """Make *count* files of two types in big."""
    (root / "htdocs/big").mkdir(parents=True)
    for number in range(count):
        suffix = "html" if number % 2 else "txt"
        (root / f"htdocs/big/f{number}.{suffix}").write_text("x")


def count_lookups(monkeypatch: pytest.MonkeyPatch, served: Any) -> list[str]:
    """Return the list to which each sub-request is added."""
    found: list[str] = []
    lookup = served.lookup_uri

    async def counted(r: Any, target: str, *rest: Any, **more: Any) -> Any:
        found.append(target)
        return await lookup(r, target, *rest, **more)

    monkeypatch.setattr(served, "lookup_uri", counted)
    return found


def test_names_of_one_class_share_a_subrequest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, 100)
    served = build_engine(tmp_path, CONF % "<Files f7.html>\nForceType text/x-seven\n</Files>")
    lookups = count_lookups(monkeypatch, served)
    body = fetch(served, "/big/", "Depth: 1", method="PROPFIND").body
    assert body.count("<D:getcontenttype>text/html</D:getcontenttype>") == 49
    assert body.count("<D:getcontenttype>text/plain</D:getcontenttype>") == 50
    assert body.count("<D:getcontenttype>text/x-seven</D:getcontenttype>") == 1
    assert sum(target.startswith("/big/") for target in lookups) == 4  # collection, classes, f7.html
    monkeypatch.setattr(properties, "MAX_CLASSES", 0)
    lookups.clear()
    assert fetch(served, "/big/", "Depth: 1", method="PROPFIND").body.count("text/x-seven") == 1
    assert sum(target.startswith("/big/") for target in lookups) == 101


def test_a_listing_is_read_in_pieces() -> None:
    read = []

    async def pieces() -> Any:
        for number in range(1000):
            read.append(number)
            yield "x" * 1000

    async def run() -> None:
        listing = Listing(None, pieces())  # type: ignore[arg-type]
        first = await listing.read()
        assert first is not None
        assert GATHERED <= len(first) < GATHERED + 1000
        assert len(read) == len(first) // 1000
        await listing.aclose()
        assert await listing.read() is None

    asyncio.run(run())


def test_an_unreadable_directory_ends_the_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, 2)
    served = build_engine(tmp_path, CONF % "")

    def fail(_path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(Aborted):
        fetch(served, "/big/", "Depth: 1", method="PROPFIND")
    text = "Provider encountered an error while streaming a multistatus PROPFIND response.  [404, #0]"
    assert text in error_log(served)
