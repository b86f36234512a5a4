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
from whimbrel.modules.dav.mod_dav_fs.file_resource import MAX_OPEN

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


def test_missing_properties_are_those_of_each_resource(tmp_path: Path) -> None:
    make(tmp_path, 4)
    (tmp_path / "htdocs/big/below").mkdir()
    served = build_engine(tmp_path, CONF % "")
    change = '<propertyupdate xmlns="DAV:"><set><prop><a xmlns="urn:z">1</a></prop></set></propertyupdate>'
    assert "200 OK" in fetch(served, "/big/f2.txt", method="PROPPATCH", body=change).body
    names = '<getcontentlength/><a xmlns="urn:z"/><b xmlns="urn:z"/><resourcetype/>'
    body = f'<propfind xmlns="DAV:"><prop>{names}</prop></propfind>'
    text = fetch(served, "/big/", "Depth: 1", method="PROPFIND", body=body).body
    found = {}
    for each in text.split("<D:response")[1:]:
        href = each.partition("<D:href>")[2].partition("<")[0]
        good, _, bad = each.partition("200 OK")
        found[href] = ("<lp1:getcontentlength>" in good, ":a>1</" in good, ":a/>" in bad, ":b/>" in bad)
    assert found == {
        "/big/": (False, False, True, True),
        "/big/below/": (False, False, True, True),
        **{f"/big/f{n}.{'html' if n % 2 else 'txt'}": (True, False, True, True) for n in (0, 1, 3)},
        "/big/f2.txt": (True, True, False, True),
    }
    assert "<g0:getcontentlength/>" in text.partition("/big/below/")[2].partition("404")[0]


def test_names_are_bytes_at_every_depth(tmp_path: Path) -> None:
    directory = os.fsencode(tmp_path / "htdocs/big")
    for _ in range(MAX_OPEN + 4):
        os.makedirs(directory)
        with open(directory + b"/\xff\xe9.txt", "wb") as file:
            file.write(b"four")
        directory += b"/d"
    served = build_engine(tmp_path, CONF % "DavDepthInfinity On")
    names = "<getcontentlength/><getcontenttype/>"
    body = f'<propfind xmlns="DAV:"><prop>{names}</prop></propfind>'
    text = fetch(served, "/big/", "Depth: infinity", method="PROPFIND", body=body).body
    assert text.count("%ff%e9.txt</D:href>") == text.count(">4</lp1:getcontentlength>") == MAX_OPEN + 4
    assert text.count("<D:getcontenttype>text/plain") == MAX_OPEN + 4


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
