"""mod_brotli: fields, framing and its place before DEFLATE, as in 2.4.71."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from tests.support.client import dechunk, fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import StartError
from whimbrel.modules.filters.mod_brotli import require_library

brotli = pytest.importorskip("brotli", reason="the optional package brotli is not installed")

LOAD = """LoadModule deflate_module modules/mod_deflate.so
LoadModule brotli_module modules/mod_brotli.so
"""
CONF = LOAD + "SetOutputFilter BROTLI_COMPRESS;DEFLATE\nSetEnvIf User-Agent old no-brotli\n"
TEXT = "godwit curlew whimbrel sand " * 200
FILES = {
    "htdocs/a.txt": TEXT,
    "htdocs/empty.txt": "",
    "htdocs/noise.txt": random.Random(4).randbytes(70_000).decode("latin-1"),
}


@pytest.mark.parametrize(
    ("fields", "coding"),
    [
        (("Accept-Encoding: gzip, br",), "br"),
        (("Accept-Encoding: br;q=0, gzip",), "gzip"),
        (("Accept-Encoding: gzip",), "gzip"),
        (("Accept-Encoding: gzip, br", "User-Agent: old"), "gzip"),
        (("Accept-Encoding: br;q=0",), None),
        ((), None),
    ],
)
def test_the_first_filter_that_the_client_accepts(
    tmp_path: Path, fields: tuple[str, ...], coding: str | None
) -> None:
    reply = fetch(build_engine(tmp_path, CONF, FILES), "/a.txt", *fields)
    assert (reply.get("Content-Encoding"), reply.get("Vary")) == (coding, "Accept-Encoding")
    assert (reply.get("ETag") or "").endswith(f'-{coding}"' if coding else '0"')


@pytest.mark.parametrize("path", ["/a.txt", "/empty.txt", "/noise.txt"])
@pytest.mark.parametrize("more", ["", "BrotliCompressionQuality 11", "BrotliCompressionMaxInputBlock 16"])
def test_the_content_is_the_same(tmp_path: Path, path: str, more: str) -> None:
    engine = build_engine(tmp_path, f"{CONF}{more}\n", FILES)
    for agent in ("one", "two"):
        reply = fetch(engine, path, "Accept-Encoding: br", f"User-Agent: {agent}", "Cookie: a")
        body = reply.body.encode("latin-1")
        if reply.get("Transfer-Encoding"):
            body = dechunk(reply.body).encode("latin-1")
        assert brotli.decompress(body).decode("latin-1") == FILES[f"htdocs{path}"]


@pytest.mark.parametrize(("mode", "suffix"), [("NoChange", ""), ("Remove", None), ("AddSuffix", "-br")])
def test_brotli_alter_etag(tmp_path: Path, mode: str, suffix: str | None) -> None:
    engine = build_engine(tmp_path, f"{CONF}BrotliAlterETag {mode}\n", FILES)
    plain = fetch(engine, "/a.txt").get("ETag") or ""
    coded = fetch(engine, "/a.txt", "Accept-Encoding: br").get("ETag")
    assert coded == (None if suffix is None else f'{plain[:-1]}{suffix}"')


def test_a_304_has_the_fields_of_the_coded_response(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, CONF, FILES)
    tag = fetch(engine, "/a.txt").get("ETag") or ""
    reply = fetch(engine, "/a.txt", "Accept-Encoding: br", f"If-None-Match: {tag}")
    assert (reply.status, reply.get("ETag")) == (304, f'{tag[:-1]}-br"')
    assert (reply.get("Content-Encoding"), reply.get("Vary")) == ("br", "Accept-Encoding")


def test_a_missing_package_is_named_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    with pytest.raises(StartError, match=r"whimbrel\[brotli\]"):
        require_library(None)  # type: ignore[arg-type]
