"""Files of dead properties.  The format is that of httpd's dav_fs_dbm, version 4."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import thread_time

import pytest

from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.provider import PropertyName
from whimbrel.modules.dav.mod_dav_fs import property_store
from whimbrel.modules.dav.mod_dav_fs.property_store import DbmProperties
from whimbrel.modules.support.dbm import bdb, sdbm, sdbm_writer

COLOUR, SIZE = PropertyName("urn:z", "colour"), PropertyName("", "size")
# 4, 0, number of namespaces as a short, their URIs
METADATA = b"\4\0\0\2DAV:\0urn:z\0"


@dataclass
class Change:
    """A property to set, or to remove without a value."""

    name: PropertyName
    content: str | None = None
    language: str = ""

    @property
    def is_removal(self) -> bool:
        """Return True without a value."""
        return self.content is None

    def value(self, number: dict[int, int]) -> tuple[str, str]:
        """Return language and content."""
        assert number == {0: 0, 1: 1}
        return self.language, self.content or ""


def change(store: DbmProperties, *changes: Change) -> None:
    """Make changes of a request with two namespaces."""
    store.prepare()
    store.change(changes, ["DAV:", "urn:z"])


def test_a_new_file_is_that_of_httpd(tmp_path: Path) -> None:
    store = DbmProperties(str(tmp_path), "a.txt")
    assert (store.names(), store.namespaces()) == ([], [])
    change(store, Change(COLOUR, "brown", "de"), Change(SIZE, ""))
    stored = dict(bdb.pairs((tmp_path / ".DAV/a.txt").read_bytes()))
    assert stored == {b"METADATA": METADATA, b"1:colour\0": b"de\0brown\0", b":size\0": b"\0\0"}
    again = DbmProperties(str(tmp_path), "a.txt")
    assert again.namespaces() == ["DAV:", "urn:z"]
    assert sorted(again.names(), key=lambda name: name.name) == [COLOUR, SIZE]
    # texts of PROPFIND, as httpd writes them
    assert again.get(COLOUR) == '<ns1:colour xml:lang="de">brown</ns1:colour>\n'
    assert again.get(SIZE) == "<size/>\n"
    assert again.get(PropertyName("urn:none", "x")) is None


def test_the_time_of_changes_grows_with_their_number(tmp_path: Path) -> None:
    class Numbered(Change):
        """A property whose namespace has any number."""

        def value(self, number: dict[int, int]) -> tuple[str, str]:
            """Return language and content."""
            return self.language, self.content or ""

    names = [PropertyName(f"urn:{number % 2000}", f"a{number}") for number in range(10_000)]
    store = DbmProperties(str(tmp_path), "a.txt")
    store.prepare()
    begin = thread_time()
    store.change([Numbered(name, "x") for name in names], [f"urn:{number}" for number in range(2000)])
    assert all(store.get(name) for name in names)
    assert thread_time() - begin < 4


def test_removals(tmp_path: Path) -> None:
    store = DbmProperties(str(tmp_path), "a.txt")
    change(store, Change(COLOUR))
    assert not (tmp_path / ".DAV/a.txt").exists()
    change(store, Change(COLOUR, "brown"), Change(SIZE, "4"))
    change(store, Change(COLOUR))
    assert DbmProperties(str(tmp_path), "a.txt").names() == [SIZE]


def test_sdbm_files_stay_sdbm(tmp_path: Path) -> None:
    pairs = {b"METADATA": METADATA, b"1:colour\0": b"\0grey\0"}
    page, directory = sdbm_writer.files(pairs.items())
    (tmp_path / ".DAV").mkdir()
    (tmp_path / ".DAV/a.txt.pag").write_bytes(page)
    (tmp_path / ".DAV/a.txt.dir").write_bytes(directory)
    store = DbmProperties(str(tmp_path), "a.txt")
    assert store.get(COLOUR) == "<ns1:colour>grey</ns1:colour>\n"
    change(store, Change(SIZE, "4"))
    assert dict(sdbm.pairs((tmp_path / ".DAV/a.txt.pag").read_bytes())) == {**pairs, b":size\0": b"\x004\0"}
    assert not (tmp_path / ".DAV/a.txt").exists()


@pytest.mark.parametrize("data", [b"text", b"\5\0\0\0", METADATA[:9]])
def test_files_of_another_form(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ".DAV").mkdir()
    if data != b"text":
        page, directory = sdbm_writer.files([(b"METADATA", data)])
        (tmp_path / ".DAV/a.txt.pag").write_bytes(page)
    else:
        (tmp_path / ".DAV/a.txt").write_bytes(data)
    with pytest.raises(DavError) as caught:
        DbmProperties(str(tmp_path), "a.txt")
    assert caught.value.status == 500


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DbmProperties(str(tmp_path), "a.txt")
    monkeypatch.setattr(property_store, "MAX_SIZE", 16_384)
    with pytest.raises(DavError) as caught:
        change(store, Change(COLOUR, "x" * 20_000))
    assert caught.value.status == 507
    assert not (tmp_path / ".DAV/a.txt").exists()
    (tmp_path / ".DAV/a.txt").write_bytes(bytes(20_000))
    with pytest.raises(DavError):
        DbmProperties(str(tmp_path), "a.txt")
