"""The filter INFLATE: whole, broken and hostile gzip files, as 2.4.71 answers them."""

from __future__ import annotations

import gzip
import os
import random
import tracemalloc
from pathlib import Path

import pytest
from tests.support.client import Reply, decoded_body, error_log, fetch
from tests.support.engine import build_engine
from tests.support.site import MTIME

from whimbrel.engine.engine import Engine
from whimbrel.modules.filters.mod_deflate.gzip_stream import OptionalFields, without_gzip

CONF = """LoadModule deflate_module modules/mod_deflate.so
AddEncoding gzip .gz
SetOutputFilter INFLATE
LogLevel debug
"""
WORDS = b" ".join(random.Random(3).choices((b"godwit", b"curlew", b"whimbrel", b"sand"), k=60_000))


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


SMALL = packed(b"x" * 300)
BIG = packed(WORDS)


def changed(data: bytes, at: int, value: int) -> bytes:
    copy = bytearray(data)
    copy[at] = value
    return bytes(copy)


def serve(root: Path, data: bytes, conf: str = "", version: str = "2.4") -> Engine:
    engine = build_engine(root, CONF + conf, {}, version)
    path = root / "htdocs/a.gz"
    path.write_bytes(data)
    os.utime(path, (MTIME, MTIME))
    return engine


def test_the_fields_of_an_inflated_response(tmp_path: Path) -> None:
    reply = fetch(serve(tmp_path, SMALL), "/a.gz")
    assert (reply.status, reply.body, reply.get("Content-Length")) == (200, "x" * 300, "300")
    assert reply.get("Content-Encoding") is None
    assert (reply.get("ETag") or "").endswith('-gunzip"')


@pytest.mark.parametrize("size", [8096, 8097])
def test_the_length_is_unknown_beyond_one_buffer(tmp_path: Path, size: int) -> None:
    reply = fetch(serve(tmp_path, packed(b"y" * size)), "/a.gz")
    assert (reply.get("Content-Length"), decoded_body(reply)) == (
        "8096" if size == 8096 else None,
        "y" * size,
    )


def test_a_large_body_is_inflated_in_pieces(tmp_path: Path) -> None:
    assert decoded_body(fetch(serve(tmp_path, BIG), "/a.gz")).encode() == WORDS


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (SMALL[:-3], "AH01401"),
        (SMALL[:5], "AH01401"),
        (b"", "AH01401"),
        (changed(SMALL, -6, SMALL[-6] ^ 1), "AH01399"),
        (changed(SMALL, -2, 9), "AH01400"),
        (changed(SMALL, 3, 0xE0), "AH02620: inflate: bad flags ffffffe0"),
        (b"xx" + SMALL[2:], "AH01405"),
        (SMALL[:10] + b"\x07" + SMALL[11:], "AH01409: Zlib error -3 inflating data (invalid block type)"),
    ],
)
def test_a_broken_file_is_an_error_if_nothing_was_passed_on(tmp_path: Path, data: bytes, code: str) -> None:
    engine = serve(tmp_path, data)
    reply = fetch(engine, "/a.gz")
    assert reply.status == 500
    assert reply.get("Content-Length") == str(len(reply.body))
    assert "gzip" not in str(reply.headers)
    log = error_log(engine)
    assert code in log
    assert "AH02831" in log


@pytest.mark.parametrize(
    ("data", "size", "code"),
    [
        (BIG[: len(BIG) // 2], None, "AH01401"),
        (changed(BIG, -6, BIG[-6] ^ 1), len(WORDS) // 8096 * 8096, "AH01399"),
        (packed(bytes(30_000_000)), 3 * 8096, "AH02650"),
    ],
)
def test_half_a_response_is_never_marked_as_complete(
    tmp_path: Path, data: bytes, size: int | None, code: str
) -> None:
    engine = serve(tmp_path, data)
    reply: Reply = fetch(engine, "/a.gz")
    assert (reply.status, reply.get("Transfer-Encoding")) == (200, "chunked")
    assert not reply.body.endswith("0\r\n\r\n")
    assert size is None or len(decoded_body(reply)) == size
    log = error_log(engine)
    assert code in log
    assert "AH00133: default_handler: ap_pass_brigade returned" in log


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (SMALL + b"garbage", "7 bytes of garbage"),
        (SMALL + SMALL, "25 bytes of garbage"),
        (b"\x1f\x8b\x08\x1e\0\0\0\0\0\3\3\0abcname\0comment\0zz" + SMALL[10:], "Inflated 7 to 300"),
    ],
)
def test_what_surrounds_the_member_is_skipped(tmp_path: Path, data: bytes, text: str) -> None:
    engine = serve(tmp_path, data)
    assert fetch(engine, "/a.gz").body == "x" * 300
    assert text in error_log(engine)


def test_another_method_is_passed_on(tmp_path: Path) -> None:
    data = changed(SMALL, 2, 7)
    assert fetch(serve(tmp_path, data), "/a.gz").body.encode("latin-1") == data


def test_ratio_limits_of_a_section_replace_both(tmp_path: Path) -> None:
    """A section with one of the directives has the default of the other, as in 2.4.71."""
    conf = """<Location />
DeflateInflateRatioLimit 2
</Location>
<Location /a.gz>
DeflateInflateRatioBurst 2
</Location>
"""
    engine = serve(tmp_path, packed(b"z" * 30_000), conf)
    assert len(decoded_body(fetch(engine, "/a.gz"))) == 2 * 8096
    assert "limit 200 by 2 time(s)" in error_log(engine)


def test_a_bomb_needs_bounded_memory(tmp_path: Path) -> None:
    engine = serve(tmp_path, packed(bytes(50_000_000)), "DeflateInflateRatioLimit 100000")
    fetch(engine, "/none")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    fetch(engine, "/a.gz", method="HEAD")
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 2_000_000


def test_optional_fields_are_skipped_wherever_they_are_cut() -> None:
    fields = b"\x03\0abcname\0comment\0zz"
    for cut in range(len(fields) + 1):
        reader = OptionalFields(0x1E)
        rest = reader.skip(fields[:cut])
        if cut < len(fields):
            rest += reader.skip(fields[cut:] + b"data")
        assert reader.is_complete
        assert rest == (b"data" if cut < len(fields) else b"")


@pytest.mark.parametrize(
    ("codings", "rest"),
    [
        ("gzip", ""),
        ("X-GZIP", ""),
        ("deflate, gzip", "deflate"),
        ("gzip, identity", ""),
        ("gzip,", ""),
        ("gzip, deflate", None),
        ("identity", None),
        ("gzip, gzip", "gzip"),
    ],
)
def test_gzip_at_the_end_of_the_codings(codings: str, rest: str | None) -> None:
    assert without_gzip(codings) == rest
