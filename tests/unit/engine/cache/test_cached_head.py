"""Cached responses with large files: the file is opened for each use, and its contents on disk count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.engine import build_engine
from tests.support.site import MTIME

from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.cached_head import CachedHeadResponse
from whimbrel.engine.cache.entry import Hit
from whimbrel.engine.cache.fd_cache import open_if_unchanged
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.line_reader import HeadLimits
from whimbrel.testing.client import TestClient

SIZE = 600_000
HEAD = b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"


def site(root: Path) -> Engine:
    return build_engine(
        root,
        'LoadModule log_config_module modules/mod_log_config.so\nCustomLog logs/access "%s %b %O"\n'
        "LoadModule logio_module modules/mod_logio.so\n",
        {"htdocs/big.bin": "a" * SIZE},
    )


def connection() -> Connection:
    return Connection("127.0.0.1", 50_000, "127.0.0.1", 80)


def body(serving: Engine, head: bytes = HEAD) -> bytes:
    data = TestClient(serving, connection()).send(head)
    assert data.startswith((b"HTTP/1.1 200", b"HTTP/1.1 206")), data[:100]
    return data.partition(b"\r\n\r\n")[2]


def hit_by(serving: Engine) -> Hit:
    """Return the hit of a head that comes the fourth time."""
    for _ in range(3):
        body(serving)
    hit = serving.response_cache.index("127.0.0.1", 80).lookup(connection(), HEAD, HeadLimits(), None)
    assert hit is not None
    assert hit[1] is hit[0].log.own and hit[1][0] == HEAD
    return hit


def test_it_is_kept_without_its_bytes(tmp_path: Path) -> None:
    kept, _head = hit_by(site(tmp_path))
    assert (kept.template.size, kept.template.body, kept.weight < 10_000) == (SIZE, b"", True)
    assert kept.log.head.line == "GET /big.bin HTTP/1.1"  # for the scoreboard, while it is sent


@pytest.mark.parametrize("text", ["b" * SIZE, "b" * (SIZE - 1), "b" * (SIZE + 1)])
def test_another_file_is_seen(tmp_path: Path, text: str) -> None:
    serving = site(tmp_path)
    assert body(serving) == body(serving) == b"a" * SIZE
    (tmp_path / "htdocs/big.bin").write_text(text)
    os.utime(tmp_path / "htdocs/big.bin", (MTIME + 5, MTIME + 5))
    assert body(serving) == body(serving) == text.encode()


def test_a_file_that_changes_after_it_was_looked_at_is_not_opened(tmp_path: Path) -> None:
    serving = site(tmp_path)
    file = hit_by(serving)[0].template.file
    assert file is not None
    (tmp_path / "htdocs/big.bin").write_text("shorter")
    assert open_if_unchanged(*file) < 0
    os.unlink(tmp_path / "htdocs/big.bin")
    assert open_if_unchanged(*file) < 0


def test_pieces_are_not_taken_for_the_whole(tmp_path: Path) -> None:
    serving = site(tmp_path)
    piece = HEAD.replace(b"\r\n\r\n", b"\r\nRange: bytes=0-9\r\n\r\n")
    assert [len(body(serving, head)) for head in (piece, HEAD, piece, HEAD, piece)] == [
        10,
        SIZE,
        10,
        SIZE,
        10,
    ]


def test_what_went_out_is_logged(tmp_path: Path) -> None:
    serving = site(tmp_path)
    hit = hit_by(serving)
    template = hit[0].template
    assert template.file is not None
    handle = open_if_unchanged(*template.file)
    assert handle >= 0
    part = FileSegment(handle, 0, template.size)
    again = CachedHeadResponse(hit, part, connection(), serving.runtime.now())
    head = again.head(b"Sat, 21 Nov 2026 12:00:00 GMT")
    again.on_sent(1000)
    os.close(part.handle)
    assert b"\r\nContent-Length: %d\r\n" % SIZE in head
    lines = [
        line for name, lines in serving.runtime.logs.items() if name.endswith("access") for line in lines
    ]
    assert lines[-1].split()[:2] == [b"200", b"1000"]
    assert all(line.split()[:2] == [b"200", b"%d" % SIZE] for line in lines[:-1])


def test_the_weight_of_a_copy_counts_its_own_bytes(tmp_path: Path) -> None:
    """The bound of the cache is one of memory."""
    weights = []
    for size in (1000, 2000):
        root = tmp_path / str(size)
        root.mkdir()
        serving = build_engine(root, "", {"htdocs/big.bin": "a" * size})
        entry, head = hit_by(serving)
        assert len(entry.template.body) == size
        weights.append(
            (entry.copy().weight, entry.copy(template=entry.template).weight, entry.copy(own=head).weight)
        )
    small, large = weights
    assert [b - a for a, b in zip(small, large, strict=True)] == [0, 1000, 1000]
