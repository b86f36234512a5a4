"""Flushes in a chain of output filters; what each filter does with them was observed on httpd 2.4.71."""

from __future__ import annotations

import asyncio
import base64
import zlib
from collections.abc import Callable, Iterator

import pytest
from tests.support.engine import build_engine

from whimbrel.engine.body import JoinedSource, Source
from whimbrel.engine.engine import Engine
from whimbrel.engine.output.filters import run_output_filters
from whimbrel.engine.request import Connection, Request
from whimbrel.http.semantics.headers import Headers

brotli = pytest.importorskip("brotli", reason="the optional package brotli is not installed")

NAMES = "deflate brotli substitute buffer data include charset_lite case_filter bucketeer".split()
CONF = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in NAMES) + (
    "CharsetSourceEnc iso-8859-1\nCharsetDefault iso-8859-2\nCharsetOptions NoImplicitAdd\nOptions Includes\n"
    "Substitute s/one/two/\n"
)
FIRST, REST = b"<p>one</p>\n<p>begun", b" and ended</p>\n"


class Pausing(Source):
    """Source of *pieces*, of which b"" is a flush."""

    def __init__(self, *pieces: bytes) -> None:
        self.left = list(pieces)

    async def read(self) -> bytes | None:
        """See Source."""
        while (data := await self.read_or_flush()) == b"":
            pass
        return data

    async def read_or_flush(self) -> bytes | None:
        """See Source."""
        return self.left.pop(0) if self.left else None


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Return an engine with the filters."""
    return build_engine(tmp_path_factory.mktemp("site"), CONF, {"htdocs/a.txt": "x"})


def filtered(engine: Engine, names: str, *pieces: bytes, coding: str = "") -> Request:
    """Return a request with the body of a source of *pieces* behind the filters *names*."""
    connection = Connection("127.0.0.1", 1, "127.0.0.1", 80)
    r = Request(engine, connection, engine.main, engine.plans.root(engine.main))
    r.plan = engine.plans.root(engine.main)
    r.uri, r.content_type, r.headers_in = "/a.txt", "text/html", Headers([("Accept-Encoding", "gzip, br")])
    if coding:
        r.headers_out.set("Content-Encoding", coding)
    r.body, r.chunked = [Pausing(*pieces)], True
    r.output_filters = [
        engine.configuration.provider("output_filter", name.lower()) for name in names.split(";")
    ]
    asyncio.run(run_output_filters(r))
    return r


def output(r: Request) -> tuple[list[bytes], bytes]:
    """Return the bytes before each flush of the body, and those behind the last one."""

    async def collect() -> tuple[list[bytes], bytes]:
        source, before, out = JoinedSource(r.body), list[bytes](), b""
        while (data := await source.read_or_flush()) is not None:
            out += data
            if not data:
                before.append(out)
                out = b""
        return before, out

    return asyncio.run(collect())


def from_data(text: bytes) -> bytes:
    """Return the content of the beginning of a URL of data."""
    return base64.b64decode(text.partition(b",")[2])


DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "DEFLATE": lambda data: zlib.decompressobj(31).decompress(data),
    "BROTLI_COMPRESS": lambda data: bytes(brotli.Decompressor().process(data)),
    "DATA": from_data,
}
EARLY = {
    "DEFLATE": FIRST,
    "BROTLI_COMPRESS": FIRST,
    "INCLUDES": FIRST,
    "BUFFER": FIRST,
    "XLATEOUT": FIRST,
    "DATA": FIRST[: len(FIRST) // 3 * 3],  # of an incomplete group httpd holds the bytes
    "CaseFilter": FIRST.upper(),
    "SUBSTITUTE": b"<p>two</p>\n",  # an incomplete line waits for its end
}
WHOLE = {"CaseFilter": (FIRST + REST).upper(), "SUBSTITUTE": (FIRST + REST).replace(b"one", b"two")}


@pytest.mark.parametrize("name", EARLY)
def test_flush_takes_along_what_a_filter_holds(engine: Engine, name: str) -> None:
    before, rest = output(filtered(engine, name, FIRST, b"", REST))
    decode = DECODERS.get(name, bytes)
    assert len(before) == 1
    assert decode(before[0]) == EARLY[name]
    assert decode(before[0] + rest) == WHOLE.get(name, FIRST + REST)


@pytest.mark.parametrize("name", ["BUCKETEER"])
def test_filter_that_keeps_a_flush_loses_no_byte(engine: Engine, name: str) -> None:
    assert output(filtered(engine, name, FIRST, b"", REST)) == ([], FIRST + REST)


@pytest.mark.parametrize("chain", ["BUFFER;DEFLATE", "INCLUDES;BUFFER;DEFLATE", "XLATEOUT;DEFLATE"])
def test_flush_travels_through_a_chain(engine: Engine, chain: str) -> None:
    before, rest = output(filtered(engine, chain, FIRST, b"", REST))
    assert [DECODERS["DEFLATE"](data) for data in before] == [FIRST]
    assert zlib.decompress(before[0] + rest, 31) == FIRST + REST


@pytest.mark.parametrize("name", ["DEFLATE", "BROTLI_COMPRESS", "BUFFER", "INCLUDES"])
def test_flush_before_the_first_byte_sends_the_head(engine: Engine, name: str) -> None:
    r = filtered(engine, name, b"", FIRST, b"", REST)
    assert isinstance(r.body[0], Source)  # the response begins before its source goes on
    before, rest = output(r)
    assert len(before) == 2
    assert DECODERS.get(name, bytes)(b"".join(before)) == FIRST
    assert DECODERS.get(name, bytes)(b"".join(before) + rest) == FIRST + REST


@pytest.mark.parametrize("name", ["DEFLATE", "BROTLI_COMPRESS", "INFLATE", "BUFFER", "INCLUDES"])
def test_body_without_a_flush_is_gathered(engine: Engine, name: str) -> None:
    r = filtered(engine, name, FIRST, REST)
    assert not any(isinstance(part, Source) for part in r.body) or name == "INFLATE"


def test_inflated_content_goes_on_at_a_flush(engine: Engine) -> None:
    packer = zlib.compressobj(wbits=31)
    first = packer.compress(FIRST) + packer.flush(zlib.Z_SYNC_FLUSH)
    rest = packer.compress(REST) + packer.flush()
    before, after = output(filtered(engine, "INFLATE", first, b"", rest, coding="gzip"))
    assert (before, after) == ([FIRST], REST)


def single_bytes() -> Iterator[bytes]:
    """Iterate over a body with a flush behind each byte."""
    for byte in FIRST * 20:
        yield bytes((byte,))
        yield b""


@pytest.mark.parametrize("name", ["DEFLATE", "BROTLI_COMPRESS", "INCLUDES"])
def test_flush_behind_each_byte(engine: Engine, name: str) -> None:
    before, rest = output(filtered(engine, name, *single_bytes()))
    assert len(before) == len(FIRST) * 20
    assert DECODERS.get(name, bytes)(b"".join(before) + rest) == FIRST * 20


def test_element_of_a_page_may_hold_flushes(engine: Engine) -> None:
    page = b"a<!--#set var='v' value='x' --><!--#echo var='v' -->b"
    pieces = [piece for byte in page for piece in (bytes((byte,)), b"")]
    before, rest = output(filtered(engine, "INCLUDES", *pieces))
    assert before[0] == b"a"
    assert len(before) == len(page)
    assert b"".join(before) + rest == b"axb"


def test_content_that_ends_within_a_block_is_an_error(engine: Engine) -> None:
    packer = zlib.compressobj(wbits=31)
    first = packer.compress(FIRST) + packer.flush(zlib.Z_SYNC_FLUSH)
    r = filtered(engine, "INFLATE", first, b"", packer.compress(REST) + packer.flush()[:4], coding="gzip")
    with pytest.raises(ConnectionAbortedError):
        output(r)
