"""Default handler, translation and overrides: responses recorded from 2.4.71 and 2.2.34."""

from __future__ import annotations

import os
from errno import EIO
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine, start_engine
from tests.support.site import CONF, MTIME, load_module_lines, write_file, write_files

from whimbrel.engine import body
from whimbrel.modules.core.handler import joined

FILES = {"htdocs/f.txt": "hello\n", "htdocs/d/x.txt": "x"}
STAMP = "5af3107a40000"  # the files' time in microseconds, hexadecimal


def log_of(serving: object) -> str:
    """Return the error log."""
    return b"".join(
        b"".join(lines) for target, lines in serving.runtime.logs.items() if "error" in target
    ).decode("latin-1")  # type: ignore[attr-defined]


def test_a_file(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, "", FILES), "/f.txt")
    assert (reply.status, reply.body) == (200, "hello\n")
    assert reply.headers[:4] == [
        ("Last-Modified", "Sun, 13 Sep 2020 12:26:40 GMT"),
        ("ETag", f'"6-{STAMP}"'),
        ("Accept-Ranges", "bytes"),
        ("Content-Length", "6"),
    ]


def test_the_etag_of_22_begins_with_the_inode(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, "", FILES, "2.2"), "/f.txt")
    assert reply.get("ETag") == f'"{os.stat(tmp_path / "htdocs/f.txt").st_ino:x}-6-{STAMP}"'


@pytest.mark.parametrize(
    ("etag", "expected"),
    [("None", None), ("Digest", '"9XLTlvrpIGYocU+yzgD3LpTyJY8="'), ("MTime", f'"{STAMP}"'), ("Size", '"6"')],
)
def test_etags(tmp_path: Path, etag: str, expected: str | None) -> None:
    assert fetch(build_engine(tmp_path, f"FileETag {etag}", FILES), "/f.txt").get("ETag") == expected


def test_a_young_file_has_a_weak_tag(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "", FILES)
    (tmp_path / "htdocs/f.txt").write_text("now")
    assert (fetch(serving, "/f.txt").get("ETag") or "").startswith('W/"3-')


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/nosuch", 404, None),
        ("GET", "/f.txt/x", 404, None),
        ("POST", "/f.txt", 200, None),
        ("PUT", "/f.txt", 405, "TRACE"),
        ("PUT", "/nosuch", 405, "TRACE"),
        ("FOO", "/f.txt", 501, "TRACE"),
        ("OPTIONS", "/f.txt", 200, "TRACE"),
        ("OPTIONS", "/nosuch", 200, "TRACE"),
        ("HEAD", "/f.txt", 200, None),
    ],
)
def test_methods(tmp_path: Path, method: str, path: str, status: int, allow: str | None) -> None:
    reply = fetch(build_engine(tmp_path, "", FILES), path, method=method)
    assert reply.status == status
    found = reply.get("Allow")
    assert (
        (found is None)
        if allow is None
        else sorted((found or "").split(",")) == ["GET", "HEAD", "OPTIONS", "POST", "TRACE"]
    )


@pytest.mark.parametrize(
    ("modules", "expected"),
    [(("mpm_event", "authz_core"), None), (("mpm_event", "authz_core", "mime"), "httpd/unix-directory")],
)
def test_only_mod_mime_gives_directories_a_type(
    tmp_path: Path, modules: tuple[str, ...], expected: str | None
) -> None:
    write_files(tmp_path, {"conf/mime.types": "text/html html\n", "htdocs/.keep": "", "logs/.keep": ""})
    text = f'Listen 127.0.0.1:80\nServerName localhost\nDocumentRoot "{tmp_path}/htdocs"\n'
    write_file(tmp_path / CONF, load_module_lines(modules) + text, None)
    assert fetch(start_engine(tmp_path), "/", method="OPTIONS").get("Content-Type") == expected


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("2.4", "AH00128: File does not exist: @/htdocs/nosuch"),
        ("2.2", "[error] [client 127.0.0.1] File does not exist: @/htdocs/nosuch"),
    ],
)
def test_a_missing_file_is_logged(tmp_path: Path, version: str, text: str) -> None:
    serving = build_engine(tmp_path, "LogLevel info", FILES, version)
    assert fetch(serving, "/nosuch").status == 404
    assert text.replace("@", str(tmp_path)) in log_of(serving)


def test_a_missing_file_is_below_the_usual_level_of_24(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "", FILES)
    assert fetch(serving, "/nosuch").status == 404
    assert log_of(serving) == ""


def test_an_invalid_method_is_logged(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "", FILES)
    fetch(serving, "/f.txt", method="FOO")
    assert "AH00135: Invalid method in request FOO /f.txt HTTP/1.1" in log_of(serving)


def test_conditions(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "", FILES)
    assert fetch(serving, "/f.txt", f'If-None-Match: "6-{STAMP}"').status == 304
    failed = fetch(serving, "/f.txt", 'If-Match: "x"')
    assert (failed.status, failed.body, failed.get("Content-Length"), failed.get("ETag")) == (
        412,
        "",
        "0",
        f'"6-{STAMP}"',
    )


def test_path_info_and_types(tmp_path: Path) -> None:
    conf = (
        "<Location /f.txt>\nAcceptPathInfo On\nForceType text/X\n</Location>\n<Location /d>\nForceType "
        "none\nSetHandler none\n</Location>"
    )
    serving = build_engine(tmp_path, conf, FILES)
    assert (fetch(serving, "/f.txt/more").status, fetch(serving, "/f.txt/more").get("Content-Type")) == (
        200,
        "text/x",
    )
    assert fetch(serving, "/d/x.txt").get("Content-Type") == "text/plain"


def test_content_md5(tmp_path: Path) -> None:
    assert (
        fetch(build_engine(tmp_path, "ContentDigest On", FILES), "/f.txt").get("Content-MD5")
        == "sZRqySSS0jR8YjW00mERhA=="
    )  # md5sum: b1946ac92492d2347c6235b4d2611184


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "", FILES)
    os.mkfifo(tmp_path / "htdocs/pipe")
    assert fetch(serving, "/pipe").status == 403


def test_a_directory_in_the_place_of_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving, opened, closed = build_engine(tmp_path, "", FILES), list[int](), list[int]()
    path, real_open, real_close = tmp_path / "htdocs/f.txt", os.open, os.close

    def replace_and_open(name: bytes, *arguments: int) -> int:
        if path.is_file():
            path.unlink()
            path.mkdir()
        opened.append(real_open(name, *arguments))
        return opened[-1]

    def close(handle: int) -> None:
        closed.append(handle)
        real_close(handle)

    monkeypatch.setattr(os, "open", replace_and_open)
    monkeypatch.setattr(os, "close", close)
    reply = fetch(serving, "/f.txt")
    assert (reply.status, opened) == (403, closed) and "AH00132" in log_of(serving)


def test_a_file_that_cannot_be_read_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serving, open_files = build_engine(tmp_path, "", FILES), set[int]()
    real_open, real_close = os.open, os.close

    def open_file(name: bytes, *arguments: int) -> int:
        handle = real_open(name, *arguments)
        open_files.add(handle)
        return handle

    def close(handle: int) -> None:
        open_files.discard(handle)
        real_close(handle)

    def fail(*_arguments: object) -> bytes:
        raise OSError(EIO, "Input/output error")

    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.setattr(os, "close", close)
    monkeypatch.setattr(body, "pread", fail)
    assert fetch(serving, "/f.txt").status == 500
    assert not open_files
    assert "(5)Input/output error: " in log_of(serving)


def test_a_handler_without_behaviour_shows_no_source(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path, "LoadModule cgi_module m/mod_cgi.so\nSetHandler cgi-script", {"htdocs/p.cgi": "#!/bin/sh\n"}
    )
    reply = fetch(serving, "/p.cgi")
    assert reply.status == 500 or "#!/bin/sh" not in reply.body
    assert "#!" not in reply.body


def test_a_large_file_is_sent_completely(tmp_path: Path) -> None:
    assert (
        fetch(build_engine(tmp_path, "", {"htdocs/big": "0123456789" * 20_000}), "/big").body
        == "0123456789" * 20_000
    )


def test_the_future_is_no_last_modified(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "", FILES)
    os.utime(tmp_path / "htdocs/f.txt", (4_000_000_000, 4_000_000_000))
    assert "2096" not in (fetch(serving, "/f.txt").get("Last-Modified") or "2096")
    assert MTIME < 4_000_000_000


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a//b/./c", "/r/a/b/c"),
        ("/a/../b", "/r/b"),
        ("/../x", None),
        ("/", "/r/"),
        ("/a/", "/r/a/"),
        ("/a/b/..", "/r/a/"),
        ("", "/r/"),
        ("/.a", "/r/.a"),
    ],
)
def test_joined(path: str, expected: str | None) -> None:
    assert joined("/r", path) == expected


def test_a_device_is_served_as_the_empty_file_that_its_size_makes_it(tmp_path: Path) -> None:
    """As recorded of both versions for a link to /dev/null; /dev/zero is not read either."""
    serving = build_engine(tmp_path, "", FILES)
    (tmp_path / "htdocs/dev").symlink_to("/dev/zero")
    reply = fetch(serving, "/dev")
    assert (reply.status, reply.get("Content-Length")) == (200, "0")
