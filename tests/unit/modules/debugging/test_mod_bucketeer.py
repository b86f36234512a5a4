"""mod_bucketeer: bytes and framing as httpd 2.4.71 sends them; what is held has a bound."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.modules.debugging.mod_bucketeer import MAX_HELD, Bucketeer

CONF = "LoadModule bucketeer_module modules/mod_bucketeer.so\nSetOutputFilter BUCKETEER\n"


@pytest.mark.parametrize(
    ("text", "body", "length"),
    [
        ("a\x02b\x02", "ab", "2"),
        ("a\x06b", "ab", None),
        ("ab\x06", "ab", "2"),
        ("a\x10b", "ab", None),
        ("\x10ab", "ab", None),
        ("ab\x10", "ab", None),
        ("a\x06b\x10c", "abc", None),
        ("\x02", "", "0"),
    ],
)
def test_framing(tmp_path: Path, text: str, body: str, length: str | None) -> None:
    reply = fetch(build_engine(tmp_path, CONF, {"htdocs/a.txt": text}), "/a.txt")
    chunked = f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"
    assert (reply.body, reply.get("Content-Length")) == (body if length else chunked, length)


def test_other_types_are_not_filtered(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, CONF + "ForceType image/png", {"htdocs/a.txt": "a\x06b"}), "/a.txt")
    assert (reply.body, reply.get("Content-Length")) == ("a\x06b", "3")


def test_held_bytes_are_bounded() -> None:
    transform, passed = Bucketeer(), 0
    for _ in range(100):
        passed += len(transform.feed(b"x" * 65536))
    assert 100 * 65536 - passed <= MAX_HELD
    assert len(transform.end(b"")) == 100 * 65536 - passed


def test_a_pass_releases_what_is_held() -> None:
    transform = Bucketeer()
    assert transform.feed(b"ab\x02c") == b""
    assert transform.feed(b"d\x10e") == b"abcd"
    assert transform.end(b"f") == b"ef"
