"""The input filter DEFLATE: statuses and messages are those of 2.4.71 for the same bodies."""

from __future__ import annotations

import gzip
import random
import tracemalloc

import pytest
from tests.support.client import Reply, error_log, fetch
from tests.support.scripts import build_cgi_engine

from whimbrel.engine.engine import Engine

CGI = (
    "#!/usr/bin/python3\nimport sys, os\nd = sys.stdin.buffer.read()\n"
    "sys.stdout.write('Content-Type: text/plain\\r\\n\\r\\nCL=%s CE=%s LEN=%d' % ("
    "os.environ.get('CONTENT_LENGTH'), os.environ.get('HTTP_CONTENT_ENCODING'), len(d)))\n"
)
CONF = """LoadModule deflate_module modules/mod_deflate.so
AddHandler cgi-script .cgi
LogLevel debug
<Directory "@/htdocs">
Options +ExecCGI
SetInputFilter DEFLATE
</Directory>
<Location /three>
SetInputFilter DEFLATE;DEFLATE;DEFLATE
</Location>
<Location /limited>
DeflateInflateLimitRequestBody 8096
</Location>
"""
PATHS = ("e.cgi", "three/e.cgi", "limited/e.cgi")
GZIP = "Content-Encoding: gzip"


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


SMALL = packed(b"x" * 300)
NOISE = packed(random.Random(2).randbytes(20_000))
BOMB = packed(bytes(30_000_000))


def changed(data: bytes, at: int, value: int) -> bytes:
    copy = bytearray(data)
    copy[at] = value
    return bytes(copy)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    files = {**dict.fromkeys(PATHS, CGI), "f.txt": "static"}
    return build_cgi_engine(tmp_path_factory.mktemp("site"), files, CONF)


def post(engine: Engine, path: str, data: bytes, *fields: str) -> Reply:
    return fetch(engine, path, *fields, method="POST", body=data.decode("latin-1"))


@pytest.mark.parametrize(
    ("path", "data", "coding", "length"),
    [
        ("/e.cgi", SMALL, "gzip", 300),
        ("/e.cgi", SMALL, "GZIP, identity", 300),
        ("/e.cgi", SMALL, "identity", len(SMALL)),
        ("/e.cgi", changed(SMALL, 2, 7), "gzip", 300),
        ("/e.cgi", NOISE, "gzip", 20_000),
        ("/e.cgi", b"\x1f\x8b\x08\x1e\0\0\0\0\0\3\3\0abcname\0comment\0zz" + SMALL[10:], "gzip", 300),
        ("/three/e.cgi", packed(packed(SMALL)), "gzip, gzip, gzip", 300),
        ("/three/e.cgi", SMALL, "gzip", 300),
        ("/limited/e.cgi", packed(b"x" * 8096), "gzip", 8096),
    ],
)
def test_a_body_is_inflated_as_often_as_it_is_coded(
    engine: Engine, path: str, data: bytes, coding: str, length: int
) -> None:
    """The script sees the fields that the client sent."""
    reply = post(engine, path, data, f"Content-Encoding: {coding}")
    assert reply.status == 200
    assert f"CL={len(data)} CE={coding} LEN={length}" in reply.body


@pytest.mark.parametrize(
    ("path", "data", "status", "code"),
    [
        ("/e.cgi", SMALL[:-3], 400, "AH02481"),
        ("/e.cgi", SMALL[:10], 400, "AH02481"),
        ("/e.cgi", SMALL[:5], 400, "AH02619"),
        ("/e.cgi", changed(SMALL, -6, SMALL[-6] ^ 1), 400, "AH01394: Zlib: CRC error inflating data"),
        (
            "/e.cgi",
            changed(SMALL, -2, 9),
            400,
            "Length 300 of inflated data does not match expected value 590124",
        ),
        ("/e.cgi", SMALL + b"garbage", 400, "AH02485"),
        ("/e.cgi", SMALL + SMALL, 400, "AH02485"),
        ("/e.cgi", changed(SMALL, 3, 0xE0), 400, "AH01388: Zlib: Invalid flags ffffffe0"),
        ("/e.cgi", b"xx" + SMALL[2:], 400, "AH01387"),
        ("/e.cgi", SMALL[:10] + b"\x07" + SMALL[11:], 400, "AH01392: Zlib error -3 inflating data"),
        ("/e.cgi", BOMB, 400, "AH02649: Inflated content ratio is larger than the configured limit 200 by 3"),
        ("/limited/e.cgi", packed(b"x" * 8097), 413, "AH02648: Inflated content length of 8097 is larger"),
        ("/limited/e.cgi", NOISE, 413, "AH02648: Inflated content length of 8187 is larger"),
        ("/f.txt", b"bad", 400, "AH02619"),
    ],
)
def test_a_bad_body_is_refused(engine: Engine, path: str, data: bytes, status: int, code: str) -> None:
    before = len(error_log(engine))
    reply = post(engine, path, data, GZIP)
    assert reply.status == status
    assert reply.get("Content-Length") == str(len(reply.body))
    log = error_log(engine)[before:]
    assert code in log
    assert ("Error reading request entity data" in log) is path.endswith(".cgi")


def test_a_bomb_through_three_filters_is_refused_in_bounded_memory(engine: Engine) -> None:
    data = packed(packed(BOMB))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    reply = post(engine, "/three/e.cgi", data, "Content-Encoding: gzip,gzip,gzip")
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert reply.status == 400
    assert "AH02649" in error_log(engine)
    assert peak < 2_000_000


def test_ranges_of_content_are_passed_on(engine: Engine) -> None:
    reply = post(engine, "/e.cgi", SMALL, GZIP, "Content-Range: bytes 0-1/2")
    assert f"CE=gzip LEN={len(SMALL)}" in reply.body
