"""Heads identified by their relevant lines."""

from __future__ import annotations

import pytest

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.engine.cache.key import (
    BY_CLIENT,
    EscapedCache,
    HeadPattern,
    KeySpec,
    RawHead,
    render_template,
    template_values,
)

HEAD = b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1\r\nUser-Agent:  me \r\n\r\n"


def key(head: bytes, *names: str, client: str = "1") -> object:
    found = KeySpec(frozenset(names)).build_key(head.split(b"\r\n"), head.split(b"\r\n")[0], client)
    return None if found is None else found[0]


def test_fields_of_a_head() -> None:
    head = RawHead(HEAD.replace(b"Host: x", b"Host: x\r\nhost: y"))
    assert (head.get("user-agent"), head.get("HOST"), head.get("Agent"), head.get("Via", "-")) == (
        "me",
        "x, y",
        None,
        "-",
    )


def test_other_fields_give_the_same_key() -> None:
    assert (
        key(HEAD, "user-agent")
        == key(HEAD.replace(b"a=1", b"b=2"), "user-agent")
        == key(HEAD.replace(b"Cookie: a=1\r\n", b""), "user-agent")
    )


@pytest.mark.parametrize(
    "change",
    [
        (b"me", b"you"),
        (b"GET /a", b"GET /b"),
        (b"Host: x", b"Host: y"),
        (b"Cookie", b"Connection"),
        (b"1.1", b"1.0"),
    ],
)
def test_what_matters_gives_another(change: tuple[bytes, bytes]) -> None:
    assert key(HEAD, "user-agent") != key(HEAD.replace(*change), "user-agent")


@pytest.mark.parametrize("line", [b"Cookie a", b" folded", b"A: \x00", b"B : c", b": x", b""])
def test_a_line_that_is_none_gives_no_key(line: bytes) -> None:
    assert key(HEAD.replace(b"Cookie: a=1", line), "user-agent") is None


def test_the_client_matters_where_an_answer_was_for_one() -> None:
    assert key(HEAD, client="1") == key(HEAD, client="2")
    assert key(HEAD, BY_CLIENT, client="1") != key(HEAD, BY_CLIENT, client="2")


VALUES = [
    b"",
    b" a=2",
    b"\t",
    b" caf\xe9",
    b" a=1\r",
    b" a=1\n",
    b" a\r\nRange: bytes=0-1",
    b" a\nRange: x",
    b" a\r\n b",
    b" \0",
    b" \x7f",
    b" " + b"x" * 5000,
    b" a\r\n\r\nGET /b HTTP/1.1\r\nHost: x",
    b": x",
    b" a\r\nContent-Length: 3",
]


@pytest.mark.parametrize("value", VALUES)
def test_a_head_that_is_near_has_the_key_that_reading_its_lines_gives(value: bytes) -> None:
    fields = KeySpec(frozenset(["user-agent"]))
    found = fields.build_key(HEAD.split(b"\r\n"), HEAD.split(b"\r\n")[0], "1")
    assert found is not None
    near = HeadPattern(HEAD, b"Cookie: a=1", *found, most=4096)
    head = HEAD.replace(b" a=1", value)
    alike = (
        fields.build_key(head.split(b"\r\n"), HEAD.split(b"\r\n")[0], "1")
        if head.count(b"\r\n\r\n") == 1 and len(head) <= 4096
        else None
    )
    assert near.matches(head) is (alike == found)


@pytest.mark.parametrize(
    "change",
    [
        (b"GET /a", b"GET /b"),
        (b"Cookie", b"Cooki"),
        (b"Cookie", b"Range"),
        (b"me ", b"you"),
        (b"\r\n\r\n", b"\r\nVia: x\r\n\r\n"),
        (b"\r\n\r\n", b"\r\n"),
        (b"Cookie: a=1", b"Cookie : a=1"),
        (b"Host: x\r\n", b""),
        (b"\r\n\r\n", b"\r\n\r\nGET"),
    ],
)
def test_a_head_that_differs_elsewhere_is_not_near(change: tuple[bytes, bytes]) -> None:
    assert not HeadPattern(HEAD, b"Cookie: a=1", (HEAD,), (), most=4096).matches(HEAD.replace(*change))
    assert HeadPattern(HEAD, b"Cookie: a=1", (HEAD,), (), most=4096).matches(HEAD.replace(b"a=1", b""))


def test_a_short_head_is_not_near_although_its_ends_overlap() -> None:
    near = HeadPattern(b"GET / HTTP/1.1\r\nA:\r\n\r\n", b"A:", (b"",), (), most=4096)
    assert near.matches(b"GET / HTTP/1.1\r\nA: 1\r\n\r\n")
    assert not near.matches(b"GET / HTTP/1.1\r\nA:\r\n")


@pytest.mark.parametrize(
    ("head", "told", "expected"),
    [
        (
            b"GET /a HTTP/1.1\r\nReferer: x\r\n\r\n",
            (b"GET /a HTTP/1.1", b"Referer: x"),
            b'"GET /a HTTP/1.1" x 100% -\n',
        ),
        (b"GET /a HTTP/1.1\r\n\r\n", (b"GET /a HTTP/1.1",), b'"GET /a HTTP/1.1" - 100% -\n'),
        (b"GET /a HTTP/1.1\r\n\r\n", (), b'"GET /a HTTP/1.1" - 100% -\n'),
        (
            b'GET /"\xe9 HTTP/1.1\r\nrefeRER:\t a"b %s \r\nAgent: \r\n\r\n',
            (b'refeRER:\t a"b %s ', b"Agent: "),
            b'"GET /\\"\\xe9 HTTP/1.1" a\\"b %s 100% \n',
        ),
        (
            b"GET /a HTTP/1.1\r\nAgent: 1\r\nagent: 2\r\n\r\n",
            (b"Agent: 1", b"agent: 2"),
            b'"GET /a HTTP/1.1" - 100% 1, 2\n',
        ),
        (
            b"\x000 GET http /a?b localhost HTTP/2.0\r\nhost: localhost\r\n\r\n",
            (b"\x000 GET http /a?b localhost HTTP/2.0",),
            b'"GET /a?b HTTP/2.0" - 100% -\n',
        ),
    ],
)
def test_what_a_log_tells_of_a_head(head: bytes, told: tuple[bytes, ...], expected: bytes) -> None:
    """Lines with holes, filled twice: the second time from what was remembered."""
    outline = (
        tuple(lambda _view, text=text: text for text in (b'"', b'" ', b" 100% ", b"\n")),
        (b"", b"referer", b"agent"),
    )
    shown: EscapedCache = BoundedDict(64)
    for _ in range(2):
        values = template_values(head, told, shown, {b"": b"-", b"referer": b"-", b"agent": b"-"})
        assert render_template(outline, None) % values == expected
