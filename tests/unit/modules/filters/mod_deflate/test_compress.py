"""The filter DEFLATE: fields and framing of compressed responses, in both versions."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from tests.support.client import Reply, dechunk, error_log, fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine

LOAD = "LoadModule deflate_module modules/mod_deflate.so\nSetOutputFilter DEFLATE\n"
GZIP = "Accept-Encoding: gzip"
TEXT = "godwit curlew whimbrel sand " * 30
NOISE = random.Random(1).randbytes(70_000).decode("latin-1")
FILES = {
    "htdocs/a.txt": TEXT,
    "htdocs/a.html": TEXT,
    "htdocs/68.txt": "x" * 68,
    "htdocs/69.txt": "x" * 69,
    "htdocs/empty.txt": "",
    "htdocs/a.foo": TEXT,
    "htdocs/noise65536.txt": NOISE[:65536],
    "htdocs/noise65537.txt": NOISE[:65537],
    "htdocs/zeros.txt": "0" * 700_000,
    "htdocs/words.txt": TEXT * 100,
}


def site(root: Path, conf: str = "", version: str = "2.4") -> Engine:
    return build_engine(root, LOAD + conf, FILES, version)


def content(reply: Reply) -> str:
    body = dechunk(reply.body) if reply.get("Transfer-Encoding") else reply.body
    return gzip.decompress(body.encode("latin-1")).decode("latin-1")


@pytest.mark.parametrize("path", ["/a.txt", "/words.txt", "/zeros.txt", "/noise65537.txt"])
@pytest.mark.parametrize("level", [1, 2, 6, 9])
def test_the_content_is_the_same_at_each_level(tmp_path: Path, path: str, level: int) -> None:
    engine = site(tmp_path, f"DeflateCompressionLevel {level}")
    reply = fetch(engine, path, GZIP)
    assert content(reply) == FILES[f"htdocs{path}"]
    assert content(fetch(engine, path, GZIP, "User-Agent: other")) == FILES[f"htdocs{path}"]


def test_fields_of_a_compressed_response(tmp_path: Path) -> None:
    reply = fetch(site(tmp_path), "/a.txt", GZIP)
    assert reply.get("Vary") == "Accept-Encoding"
    assert reply.get("Content-Encoding") == "gzip"
    assert (reply.get("ETag") or "").endswith('-gzip"')
    assert reply.get("Content-Length") == str(len(reply.body))


@pytest.mark.parametrize(
    ("size", "version", "is_compressed"),
    [
        ("68", "2.4", False),
        ("69", "2.4", True),
        ("68", "2.2", True),
        ("empty", "2.4", False),
        ("empty", "2.2", True),
    ],
)
def test_2_4_does_not_compress_small_responses(
    tmp_path: Path, size: str, version: str, is_compressed: bool
) -> None:
    reply = fetch(site(tmp_path, version=version), f"/{size}.txt", GZIP)
    assert (reply.get("Content-Encoding") == "gzip") is is_compressed
    assert (reply.get("Vary") == "Accept-Encoding") is is_compressed


@pytest.mark.parametrize(
    ("value", "in_22", "in_24"),
    [
        ("gzip", True, True),
        ("x-gzip", False, False),
        ("GZIP", True, True),
        ("gzip;q=0", True, False),
        ("gzip;q=0.000", True, False),
        ("gzip;q=0.0000", True, True),
        ("gzip;Q=0", True, True),
        ("gzip;;q=0", True, False),
        ("gzip;a=b;q=0", True, True),
        ("gzip q=0", True, False),
        ("foo gzip", True, True),
        ("foo;gzip", False, False),
        ('"gzip"', False, False),
        (",gzip", False, False),
        ("deflate, gzip", True, True),
        ("*", False, False),
    ],
)
def test_values_of_accept_encoding(tmp_path: Path, value: str, in_22: bool, in_24: bool) -> None:
    """As recorded; the quoted and doubled ones are answers of 2.4.71."""
    for version, is_compressed in (("2.2", in_22), ("2.4", in_24)):
        reply = fetch(site(tmp_path / version, version=version), "/a.txt", f"Accept-Encoding: {value}")
        assert (reply.get("Content-Encoding") == "gzip") is is_compressed
        assert reply.get("Vary") == "Accept-Encoding"


def test_fields_of_a_name_are_joined(tmp_path: Path) -> None:
    engine = site(tmp_path)
    assert fetch(engine, "/a.txt", "Accept-Encoding: foo", GZIP).get("Content-Encoding") == "gzip"
    assert fetch(engine, "/a.txt", "Accept-Encoding: gzip;q=0", GZIP).get("Content-Encoding") is None


@pytest.mark.parametrize(
    ("lines", "path", "is_compressed", "vary"),
    [
        ("SetEnv no-gzip 0", "/a.txt", False, None),
        ("SetEnvIf Host . gzip-only-text/html", "/a.txt", False, None),
        ("SetEnvIf Host . gzip-only-text/html", "/a.html", True, "Accept-Encoding"),
        ("SetEnvIf Host . gzip-only-text/html=0", "/a.txt", True, "Accept-Encoding"),
        ("AddEncoding x-foo .foo", "/a.foo", False, None),
        ("AddEncoding identity .foo", "/a.foo", True, "Accept-Encoding"),
    ],
)
def test_reasons_not_to_compress(
    tmp_path: Path, lines: str, path: str, is_compressed: bool, vary: str | None
) -> None:
    reply = fetch(site(tmp_path, lines), path, GZIP)
    assert ((reply.get("Content-Encoding") or "").endswith("gzip"), reply.get("Vary")) == (
        is_compressed,
        vary,
    )


def test_force_gzip_needs_no_field(tmp_path: Path) -> None:
    assert fetch(site(tmp_path, "SetEnv force-gzip 1"), "/a.txt").get("Content-Encoding") == "gzip"


def test_a_head_has_the_length_of_the_compressed_body(tmp_path: Path) -> None:
    engine = site(tmp_path)
    length = fetch(engine, "/a.txt", GZIP).get("Content-Length")
    reply = fetch(engine, "/a.txt", GZIP, method="HEAD")
    assert (reply.get("Content-Length"), reply.body) == (length, "")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_length_is_unknown_where_zlib_emits_a_block_before_the_last_input(
    tmp_path: Path, method: str
) -> None:
    """2.4.71 sends 65536 bytes of noise with a length, one byte more in chunks."""
    engine = site(tmp_path)
    assert fetch(engine, "/noise65536.txt", GZIP, method=method).get("Content-Length")
    reply = fetch(engine, "/noise65537.txt", GZIP, method=method)
    assert reply.get("Content-Length") is None
    assert (reply.get("Transfer-Encoding") == "chunked") is (method == "GET")
    assert fetch(engine, "/zeros.txt", GZIP, method=method).get("Content-Length")


def test_ranges_are_of_the_compressed_body(tmp_path: Path) -> None:
    engine = site(tmp_path)
    whole = fetch(engine, "/a.txt", GZIP).body
    reply = fetch(engine, "/a.txt", GZIP, "Range: bytes=0-9")
    assert (reply.status, reply.body) == (206, whole[:10])
    assert reply.get("Content-Range") == f"bytes 0-9/{len(whole)}"


def test_conditions_come_before_the_suffix(tmp_path: Path) -> None:
    engine = site(tmp_path)
    tag = fetch(engine, "/a.txt").get("ETag") or ""
    reply = fetch(engine, "/a.txt", GZIP, f"If-None-Match: {tag}")
    assert (reply.status, reply.get("ETag"), reply.get("Vary")) == (304, tag, None)
    assert fetch(engine, "/a.txt", GZIP, f'If-None-Match: {tag[:-1]}-gzip"').status == 200


def test_2_2_has_vary_in_a_304_and_no_suffix(tmp_path: Path) -> None:
    engine = site(tmp_path, version="2.2")
    tag = fetch(engine, "/a.txt", GZIP).get("ETag") or ""
    reply = fetch(engine, "/a.txt", GZIP, f"If-None-Match: {tag}")
    assert (reply.status, reply.get("Vary"), "gzip" in tag) == (304, "Accept-Encoding", False)


@pytest.mark.parametrize(("mode", "suffix"), [("NoChange", ""), ("Remove", None), ("AddSuffix", "-gzip")])
def test_deflate_alter_etag(tmp_path: Path, mode: str, suffix: str | None) -> None:
    engine = site(tmp_path, f"DeflateAlterETag {mode}")
    plain, coded = fetch(engine, "/a.txt").get("ETag") or "", fetch(engine, "/a.txt", GZIP).get("ETag")
    assert coded == (None if suffix is None else f'{plain[:-1]}{suffix}"')


def test_error_pages_are_not_compressed(tmp_path: Path) -> None:
    reply = fetch(site(tmp_path), "/none", GZIP)
    assert (reply.status, reply.get("Content-Encoding"), reply.get("Vary")) == (404, None, None)


def test_log_lines_at_each_level(tmp_path: Path) -> None:
    engine = site(tmp_path, "LogLevel trace1")
    for path, *fields in (("/a.txt", GZIP), ("/68.txt", GZIP), ("/a.txt", "Accept-Encoding: gzip;q=0")):
        fetch(engine, path, *fields)
    lines = [line.partition("] AH01384: ")[2] or line for line in error_log(engine).splitlines()]
    text = "\n".join(line for line in lines if "deflate" in line or "Zlib" in line)
    assert f"Zlib: Compressed {len(TEXT)} to " in text
    assert "mod_deflate.c(614): [client 127.0.0.1:50000] Not compressing very small response of 68" in text
    assert "token: 'gzip' - q: 'q=0'" in text
    assert "Not compressing (no Accept-Encoding: gzip or q=0)" in text


def test_a_window_that_zlib_refuses_turns_compression_off(tmp_path: Path) -> None:
    engine = site(tmp_path, "DeflateWindowSize 8")
    assert fetch(engine, "/a.txt", GZIP).get("Content-Encoding") is None
    assert "AH01383: unable to init Zlib: deflateInit2 returned -2: URL /a.txt" in error_log(engine)


def test_notes_are_the_same_for_cached_responses(tmp_path: Path) -> None:
    conf = """LoadModule log_config_module modules/mod_log_config.so
DeflateFilterNote Input i
DeflateFilterNote Output o
DeflateFilterNote r
LogFormat "%m %{i}n %{o}n %{r}n" notes
CustomLog logs/access_log notes
"""
    engine = site(tmp_path, conf)
    for method in ("GET", "GET", "GET", "HEAD"):
        length = int(fetch(engine, "/a.txt", GZIP, method=method).get("Content-Length") or 0) - 18
    fetch(engine, "/68.txt", GZIP)
    runtime = engine.runtime
    lines = [b"".join(v).decode() for k, v in runtime.logs.items() if "access" in k][0].splitlines()  # type: ignore[attr-defined]
    ratio = length * 100 // len(TEXT)
    line = f"{len(TEXT)} {length} {ratio}"
    assert lines == [f"GET {line}"] * 3 + [f"HEAD {line}", "GET - - -"]


def test_a_host_with_one_directive_has_the_defaults_of_the_others(tmp_path: Path) -> None:
    """httpd has no merge function for these records."""
    host = "<VirtualHost *:80>\nDeflateBufferSize 100\nSetOutputFilter DEFLATE\n</VirtualHost>"
    conf = f"DeflateAlterETag Remove\n{host}"
    assert "-gzip" in (fetch(site(tmp_path, conf), "/a.txt", GZIP).get("ETag") or "")
