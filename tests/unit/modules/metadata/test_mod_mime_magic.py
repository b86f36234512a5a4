"""Types by content (except white space around values): those of 2.4.71 for the same files and rules."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

CONF = "LoadModule mime_magic_module m/mod_mime_magic.so\nMimeMagicFile conf/magic"
MAGIC = (
    "0\tstring\tGIF8\timage/gif\n257\tstring\tustar\\0\tapplication/x-tar\tposix\n0\tstring\tRMF\tA/B "
    "Enc more\n0\tstring\tCC\t/b\n"
)


def asked(root: Path, data: bytes, name: str = "file", more: dict[str, str] | None = None) -> Reply:
    files = {"conf/magic": MAGIC, f"htdocs/{name}": data.decode("latin-1"), **(more or {})}
    return fetch(build_engine(root, CONF, files), f"/{name.replace('@', '%40')}")


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("x"))
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "kind", "encoding"),
    [
        (b"<html>\nx", "text/html", None),
        (b"<!-- x", "text/html", None),
        (b"<title>a", None, None),
        (b"/* c */", "text/plain", None),
        (b"a the b", "text/plain", None),
        (b"Received: by x", "message/rfc822", None),
        (b"Path: x", "message/news", None),
        (b"C comment", "text/plain", None),
        (b".TH x", "application/x-troff", None),
        (b". \\b", "application/x-troff", None),
        (b'.\\"', None, None),
        (b".\n\nab", "application/x-troff", None),
        (b"plain words here", None, None),
        (b"", "text/plain", None),
        (b"GIF89a", None, None),
        (b"GIF89a" + b"x" * 58, "image/gif", None),
        (b"x" * 250 + b" <html>", "text/html", None),
        (b"x" * 5000, None, None),
        (b"\x1b the x", "text/plain", "(with"),
        (b"RMF" + b"x" * 99, "a/b", "enc"),
        (b"CC" + b"x" * 99, None, None),
        (tar(), "application/x-tar", "posix"),
        (gzip.compress(b"<html>x", mtime=0), "text/html", "x-gzip"),
        (gzip.compress(b"nothing", mtime=0), None, "x-gzip"),
        (gzip.compress(b"\x1b the", mtime=0), None, "x-gzip"),
        (gzip.compress(tar(), mtime=0), "application/x-tar", "posix"),
        (gzip.compress(b"", mtime=0), None, None),
        (b"\x1f\x8bbroken", None, None),
    ],
)
def test_content(tmp_path: Path, data: bytes, kind: str | None, encoding: str | None) -> None:
    got = asked(tmp_path, data)
    assert (got.get("Content-Type"), got.get("Content-Encoding")) == (kind, encoding)


def test_a_name_that_tells_the_type_is_believed(tmp_path: Path) -> None:
    assert asked(tmp_path, b"<html>", "a.txt").get("Content-Type") == "text/plain"


def test_revisions_have_the_type_of_the_file(tmp_path: Path) -> None:
    assert asked(tmp_path, b"x", "rev.html@12", {"htdocs/rev.html": "x"}).get("Content-Type") == "text/html"
    assert asked(tmp_path, b"<html>", "rev@12", {"htdocs/rev": "none"}).get("Content-Type") == "text/html"
