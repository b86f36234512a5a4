"""mod_xsendfile; random requests are compared with Debian's in tests/differential."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import error_log, fetch
from tests.support.engine import build_engine

from whimbrel.modules.third_party.mod_xsendfile import merged_path

CONF = (
    "LoadModule xsendfile_module modules/mod_xsendfile.so\nLoadModule asis_module modules/mod_asis.so\n"
    "AddHandler send-as-is asis\nXSendFile On\n"
)
FILES = {"htdocs/d/f.txt": "the file", "private/p.txt": "private", "htdocs/d/a b.txt": "blank"}


def script(name: str, more: str = "") -> dict[str, str]:
    """Return the files with a document that names *name*."""
    text = f"Content-Type: text/plain\n{more}X-Sendfile: {name}\n\nown body\n"
    return {**FILES, "htdocs/d/s.asis": text}


@pytest.mark.parametrize(
    ("root", "name", "path"),
    [
        ("/a/b/", "c", "/a/b/c"),
        ("/a/b", "/a/b/c", "/a/b/c"),
        ("/a/b", "/a/bc", None),
        ("/a/b", "../b/c", "/a/b/c"),
        ("/a/b", "../c", None),
        ("/a/b", "/etc/passwd", None),
        ("/a/b", "c/../../../../../x", None),
        ("/a/b", "/a/b/../c", None),
        ("/", "x", "/x"),
        ("/a", "c/", "/a/c/"),
        ("/a", "c/.", "/a/c/"),
        ("/a", "c/d/..", "/a/c/"),
        ("/", ".", "/"),
    ],
)
def test_files_lie_below_the_root(root: str, name: str, path: str | None) -> None:
    """As apr_filepath_merge has it: only the result is compared, but no path leads above ``/``."""
    assert merged_path(root, name) == path


@pytest.mark.parametrize(
    ("conf", "name", "status", "body"),
    [
        ("", "f.txt", 200, "the file"),
        ("XSendFile Off", "f.txt", 200, "own body\n"),
        ("", "../../private/p.txt", 404, ""),
        ("XSendFilePath @/private", "p.txt", 404, ""),
        ("XSendFilePath @/private", "@/private/p.txt", 200, "private"),
        ("XSendFileAllowAbove On", "@/private/p.txt", 200, "private"),
        ("XSendFileAllowAbove On", "../../private/p.txt", 200, "private"),
        ("", "a%20b.txt", 404, ""),
        ("XSendFileUnescape On", "a%20b.txt", 200, "blank"),
        ("XSendFileUnescape On", "a%2fb.txt", 500, ""),
        ("XSendFileUnescape On", "%2e%2e/%2e%2e/private/p.txt", 404, ""),
        ("", "a b.txt", 200, "blank"),
        ("", "none", 404, ""),
        ("", ".", 404, ""),
    ],
)
def test_the_file_that_is_sent(tmp_path: Path, conf: str, name: str, status: int, body: str) -> None:
    engine = build_engine(tmp_path, f"{CONF}{conf}\n", script(name.replace("@", str(tmp_path))))
    reply = fetch(engine, "/d/s.asis")
    assert reply.status == status
    assert reply.body == body or status >= 400
    assert (reply.get("X-Sendfile") is None) == (conf != "XSendFile Off")


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    import os

    files = script("pipe")
    engine = build_engine(tmp_path, CONF, files)
    os.mkfifo(tmp_path / "htdocs/d/pipe")
    assert fetch(engine, "/d/s.asis").status == 404
    assert "xsendfile: not a file" in error_log(engine)


def test_each_request_gets_the_file_of_its_own(tmp_path: Path) -> None:
    """A response is never a cached one: the script decides anew."""
    engine = build_engine(tmp_path, CONF, script("f.txt"))
    assert fetch(engine, "/d/s.asis").body == "the file"
    (tmp_path / "htdocs/d/f.txt").write_text("changed")
    assert fetch(engine, "/d/s.asis").body == "changed"


def test_fields_and_conditions(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF, script("f.txt", "Content-Encoding: gzip\n"))
    reply = fetch(engine, "/d/s.asis")
    assert (reply.get("Content-Length"), reply.get("Content-Encoding")) == ("8", None)
    modified, tag = reply.get("Last-Modified"), reply.get("ETag")
    assert modified is not None and tag is not None
    assert fetch(engine, "/d/s.asis", f"If-Modified-Since: {modified}").status == 304
    assert fetch(engine, "/d/s.asis", f"If-None-Match: {tag}").status == 304
    assert fetch(engine, "/d/s.asis", 'If-Match: "x"').status == 412
    partial = fetch(engine, "/d/s.asis", "Range: bytes=4-5")
    assert (partial.status, partial.body) == (206, "fi")


def test_own_tags_of_the_script(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF, script("f.txt", 'ETag: "own"\n'))
    assert fetch(engine, "/d/s.asis").get("ETag") == '"own"'
    engine = build_engine(tmp_path, f"{CONF}XSendFileIgnoreEtag On\n", script("f.txt", 'ETag: "own"\n'))
    assert fetch(engine, "/d/s.asis").get("ETag") != '"own"'
