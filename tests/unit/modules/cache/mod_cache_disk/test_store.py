"""Entries on disk: damage, full disks, variants, and what httpd's own tools and server make of them."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest
from tests.support.cached_site import FRESH, CachedSite

from whimbrel.modules.cache import disk_format
from whimbrel.modules.cache.mod_cache_disk import store

HTCACHECLEAN = Path("/usr/bin/htcacheclean")


def test_names_are_those_of_httpd() -> None:
    # ap_cache_generate_name of http://localhost:80/a.txt? as htcacheclean of Debian finds it
    assert disk_format.hash_name("", 0, 0) == "1B2M2Y8AsgTpgAmY7PhCfg"  # MD5 of nothing, base 64 of RFC 1321
    assert disk_format.hash_name("", 2, 2) == "1B/2M/2Y8AsgTpgAmY7PhCfg"


@pytest.mark.parametrize(
    ("suffix", "cut"), [(".data", 0), (".data", 3), *[(".header", cut) for cut in (0, 3, 40, 130, -1)]]
)
def test_damaged_files_are_misses(tmp_path: Path, suffix: str, cut: int) -> None:
    site = CachedSite(tmp_path)
    site.origin.fields = [*FRESH, ("Content-Length", "4")]
    site.get()
    [file] = site.files(suffix)
    data = file.read_bytes()
    file.write_bytes(data[:cut])
    reply = site.get()
    assert (reply.status, reply.body) == (200, "body") and site.count == 2


def test_a_body_of_another_entry_is_a_miss(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    [file] = site.files(".data")
    file.with_suffix(".new").write_bytes(b"evil")
    os.rename(file.with_suffix(".new"), file)
    assert site.get().body == "body" and site.count == 2


def test_a_header_that_is_replaced_while_its_body_is_opened_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body may be the next one then, with the inode of the one before."""
    site = CachedSite(tmp_path)
    site.get()
    [header] = site.files(".header")
    os.utime(header, (1, 1))
    open_body = store.DiskEntry.open_body

    def replace_header(entry: store.DiskEntry) -> bool:
        is_matching = open_body(entry)
        header.write_bytes(header.read_bytes() + b"X: 1\r\n")
        return is_matching

    monkeypatch.setattr(store.DiskEntry, "open_body", replace_header)
    assert site.get().body == "body" and site.count == 2


@pytest.mark.parametrize("failing", ["write", "rename", "make_temporary"])
def test_a_full_disk_changes_no_response(
    tmp_path: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = CachedSite(tmp_path)
    calls = []

    def full(*_: object, **__: object) -> None:
        calls.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store if failing == "make_temporary" else os, failing, full)
    for _ in range(2):
        assert site.get().body == "body"
    monkeypatch.undo()
    assert calls and site.count == 2 and not list((tmp_path / "cache").glob("aptmp*"))
    assert [site.state(), site.state()] == ["MISS", "HIT"]


def test_a_full_disk_at_revalidation_serves_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = CachedSite(tmp_path)
    site.get()
    site.now += 100

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "rename", full)
    assert site.get().body == "body"


def test_sizes(tmp_path: Path) -> None:
    site = CachedSite(tmp_path, "CacheEnable disk /\nCacheMinFileSize 3\nCacheMaxFileSize 5")
    found = []
    for body in (b"12", b"1234", b"123456"):
        site.origin.body = body
        path = f"/{len(body)}"
        found.append((site.state(path=path), site.state(path=path)))
    assert found == [("MISS", "MISS"), ("MISS", "HIT"), ("MISS", "MISS")]
    assert len(site.files(".data")) == 1 and not list((tmp_path / "cache").glob("aptmp*"))


def test_a_header_file_is_read_to_its_bound(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.get()
    [file] = site.files(".header")
    with file.open("ab") as out:
        out.write(b"X: " + b"y" * 10 * disk_format.MAX_HEADER)
    assert len(store._read(str(file))) == disk_format.MAX_HEADER


@pytest.mark.skipif(not HTCACHECLEAN.exists(), reason="needs htcacheclean of apache2-utils")
def test_htcacheclean_of_debian_lists_entries(tmp_path: Path) -> None:
    site = CachedSite(tmp_path)
    site.origin.fields = [*FRESH, ("Vary", "X-V")]
    site.get("/v?q=1", "X-V: 1")
    site.get("/v?q=1", "X-V: 2")
    command = [HTCACHECLEAN, "-a", "-p", tmp_path / "cache"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert listed == "http://localhost:80/v?q=1\n" * 2
