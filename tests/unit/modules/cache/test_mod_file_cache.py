"""mod_file_cache: files are served as they were at start, by the manual of httpd."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

LOAD = "LoadModule file_cache_module modules/mod_file_cache.so\n"


@pytest.mark.parametrize("directive", ["CacheFile", "MMapFile"])
def test_a_replaced_file_is_not_seen(tmp_path: Path, directive: str) -> None:
    page = tmp_path / "htdocs" / "a.txt"
    page.parent.mkdir()
    page.write_text("old")
    engine = build_engine(tmp_path, f"{LOAD}{directive} {page}")
    (tmp_path / "new").write_text("newer")
    (tmp_path / "new").rename(page)
    reply = fetch(engine, "/a.txt")
    assert (reply.body, reply.get("Content-Length"), reply.get("Accept-Ranges")) == ("old", "3", None)
    tag = reply.get("ETag")
    assert tag and fetch(engine, "/a.txt", f"If-None-Match: {tag}").status == 304
    assert fetch(engine, "/a.txt", method="HEAD").body == ""


def test_missing_files_are_skipped(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, f"{LOAD}CacheFile {tmp_path}/no {tmp_path}", {"htdocs/a.txt": "a"})
    found = [message.text for message in engine.configuration.messages if "skipping" in message.text]
    assert found == [f"unable to stat({tmp_path}/no), skipping", f"{tmp_path} isn't a regular file, skipping"]
    assert fetch(engine, "/a.txt").body == "a"
