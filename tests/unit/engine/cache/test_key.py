"""Heads identified by their relevant lines."""

from __future__ import annotations

import pytest

from whimbrel.engine.cache.key import BY_CLIENT, KeySpec, RawHead
from whimbrel.engine.cache.log_template import CLIENT, FilledTemplate, LogTemplate
from whimbrel.http.syntax.head_shape import LINE, MAX_COMPILED, HeadShapes, line_of

HEAD = b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1\r\nUser-Agent:  me \r\n\r\n"


def key(head: bytes, *names: str, client: str = "1") -> object:
    split = HeadShapes().split(head)
    return None if split is None else KeySpec(frozenset(names)).build_key(split, line_of(split[1]), client)


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


def test_the_order_of_fields_does_not_matter() -> None:
    other = b"GET /a HTTP/1.1\r\nUser-Agent:  me \r\nVia: x\r\nHost: x\r\n\r\n"
    assert key(HEAD, "user-agent") == key(other, "user-agent")


def test_a_field_moves_no_value_to_another() -> None:
    """A missing field leaves no gap that the value of another one could fill."""
    one = b"GET /a HTTP/1.1\r\nHost: x\r\nA: 1\r\n\r\n"
    assert key(one, "a", "b") != key(one.replace(b"A:", b"B:"), "a", "b")


def test_predicates_classify_values() -> None:
    spec = KeySpec(frozenset(), tests=(("agent", (("me", "you"),)),), number=1)
    shapes = HeadShapes()

    def classified(lines: bytes) -> object:
        split = shapes.split(b"GET /a HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n")
        assert split is not None
        return spec.build_key(split, line_of(split[1]), "1")

    assert classified(b"Agent: me\r\n") == classified(b"agent:you \r\n") != ()
    assert classified(b"Agent: she\r\n") != classified(b"Agent: me\r\n") != classified(b"")
    assert classified(b"Agent: me\r\nagent: you\r\n") == ()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"GET /a HTTP/1.1\r\nReferer: x\r\n\r\n", b'1.2.3.4 "GET /a HTTP/1.1" x 100% -\n'),
        (b"GET /a HTTP/1.1\r\n\r\n", b'1.2.3.4 "GET /a HTTP/1.1" - 100% -\n'),
        (
            b'GET /"\xe9 HTTP/1.1\r\nrefeRER:\t a"b %s \r\nAgent: \r\n\r\n',
            b'1.2.3.4 "GET /\\"\\xe9 HTTP/1.1" a\\"b %s 100% \n',
        ),
        (b"GET /a HTTP/1.1\r\nAgent: 1\r\nagent: 2\r\n\r\n", b'1.2.3.4 "GET /a HTTP/1.1" - 100% 1, 2\n'),
        (
            b"\x000 GET http /a?b localhost HTTP/2.0\r\nhost: localhost\r\n\r\n",
            b'1.2.3.4 "GET /a?b HTTP/2.0" - 100% -\n',
        ),
    ],
)
def test_the_log_line_of_a_head(head: bytes, expected: bytes) -> None:
    texts = (b"", b' "', b'" ', b" 100% ", b"\n")
    template = LogTemplate(
        tuple(lambda _view, text=text: text for text in texts), (CLIENT, LINE, b"referer", b"agent")
    )
    split = HeadShapes().split(head)
    assert split is not None
    for _ in range(2):
        assert FilledTemplate(template, None).line(split, b"1.2.3.4", b"now") == expected


def test_a_shape_has_a_bounded_number_of_functions() -> None:
    split = HeadShapes().split(HEAD)
    assert split is not None
    shape, keys = split[2], set()
    for number in range(3 * MAX_COMPILED):
        spec = KeySpec(frozenset((f"x-{number}",)), number=number)
        keys.add(spec.build_key(split, line_of(split[1]), "1"))
        shape.fill((b"x-%d" % number,))
        assert len(shape.keys) <= MAX_COMPILED and len(shape._fills) <= MAX_COMPILED
    assert len(keys) == 3 * MAX_COMPILED
