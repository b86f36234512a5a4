"""Heads told apart by the lines that matter."""

from __future__ import annotations

import pytest

from whimbrel.request.raw_head import BY_CLIENT, FieldSet, RawHead

HEAD = b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1\r\nUser-Agent:  me \r\n\r\n"


def key(head: bytes, *names: str, client: str = "1") -> object:
    return FieldSet(frozenset(names)).key(RawHead(head), client)


def test_fields_of_a_head() -> None:
    head = RawHead(HEAD.replace(b"Host: x", b"Host: x\r\nhost: y"))
    assert (head.get("user-agent"), head.get("HOST"), head.get("Agent"), head.get("Via", "-")) == ("me", "x, y", None, "-")


def test_other_fields_give_the_same_key() -> None:
    assert key(HEAD, "user-agent") == key(HEAD.replace(b"a=1", b"b=2"), "user-agent") == key(HEAD.replace(b"Cookie: a=1\r\n", b""), "user-agent")


@pytest.mark.parametrize("change", [(b"me", b"you"), (b"GET /a", b"GET /b"), (b"Host: x", b"Host: y"), (b"Cookie", b"Connection"), (b"1.1", b"1.0")])
def test_what_matters_gives_another(change: tuple[bytes, bytes]) -> None:
    assert key(HEAD, "user-agent") != key(HEAD.replace(*change), "user-agent")


@pytest.mark.parametrize("line", [b"Cookie a", b" folded", b"A: \x00", b"B : c", b": x", b""])
def test_a_line_that_is_none_gives_no_key(line: bytes) -> None:
    assert key(HEAD.replace(b"Cookie: a=1", line), "user-agent") is None


def test_the_client_matters_where_an_answer_was_for_one() -> None:
    assert key(HEAD, client="1") == key(HEAD, client="2")
    assert key(HEAD, BY_CLIENT, client="1") != key(HEAD, BY_CLIENT, client="2")
