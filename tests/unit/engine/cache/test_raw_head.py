"""Heads that are not parsed."""

from __future__ import annotations

from whimbrel.engine.cache.raw_head import RawHead

HEAD = b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1\r\nUser-Agent:  me \r\n\r\n"


def test_fields_of_a_head() -> None:
    head = RawHead(HEAD.replace(b"Host: x", b"Host: x\r\nhost: y"))
    assert (head.get("user-agent"), head.get("HOST"), head.get("Agent"), head.get("Via", "-")) == (
        "me",
        "x, y",
        None,
        "-",
    )
