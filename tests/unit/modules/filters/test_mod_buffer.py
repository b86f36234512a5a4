"""mod_buffer.  Expected framing is that of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.modules.filters.mod_buffer import BufferDirConfig, BufferedOutput, BufferOut

LOAD = (
    "LoadModule buffer_module modules/mod_buffer.so\nLoadModule reflector_module modules/mod_reflector.so\n"
    "<Location /r>\nSetHandler reflector\nSetOutputFilter BUFFER\nSetInputFilter BUFFER\n%s\n</Location>\n"
)


@pytest.mark.parametrize(
    ("main", "chunked", "is_buffered"), [(None, True, True), (None, False, False), ("page", True, False)]
)
def test_responses_of_several_pieces_are_buffered(main: str | None, chunked: bool, is_buffered: bool) -> None:
    config = BufferDirConfig(size=5)
    r = SimpleNamespace(main=main, chunked=chunked, body=[b"x"], dir_config=lambda _: config)
    assert (BufferOut().begin(r) is not None) is is_buffered  # type: ignore[arg-type]


def test_a_file_keeps_its_length(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, LOAD % "" + "SetOutputFilter BUFFER", {"htdocs/a.txt": "abcdef"})
    assert fetch(engine, "/a.txt").get("Content-Length") == "6"


def test_the_buffer_is_bounded() -> None:
    buffer = BufferedOutput(5)
    assert [buffer.feed(b"abc"), buffer.feed(b"de"), buffer.feed(b"f")] == [b"", b"", b"abcdef"]
    assert [buffer.feed(b"g"), buffer.end(b"h")] == [b"", b"gh"]


def test_request_bodies(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, LOAD % "BufferSize 9")
    assert fetch(engine, "/r", method="POST", body="x" * 100).body == "x" * 100


@pytest.mark.parametrize("size", ["x", "0", "99999999999999999999"])
def test_sizes(tmp_path: Path, size: str) -> None:
    with pytest.raises(ConfigError, match="BufferSize must be a size in bytes, and greater than zero"):
        build_engine(tmp_path, LOAD % f"BufferSize {size}")
