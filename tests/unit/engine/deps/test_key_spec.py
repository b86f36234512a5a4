"""Heads identified by their relevant lines, and specifications that cover what several responses read."""

from __future__ import annotations

import pytest

from whimbrel.engine.deps.key_spec import (
    BY_CLIENT,
    MAX_FIELDS,
    MAX_LISTS,
    MAX_SPECS,
    KeySpec,
    KeySpecs,
)
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.http.syntax.head_shape import MAX_COMPILED, HeadShapes, line_of

HEAD = b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1\r\nUser-Agent:  me \r\n\r\n"


def key(head: bytes, *names: str, client: str = "1") -> object:
    split = HeadShapes().split(head)
    return None if split is None else KeySpec(frozenset(names)).build_key(split, line_of(split[1]), client)


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


def read(*names: str) -> TrackedHeaders:
    """Return the fields of a request of which these were read."""
    fields = TrackedHeaders(Headers([("X-A", "one")]))
    for name in names:
        fields.get(name)
    return fields


def covering(specs: KeySpecs, known: KeySpec | None, *names: str) -> KeySpec | None:
    return specs.covering(read(*names), (), known, by_client=False, by_query=False)


def test_a_specification_grows_with_what_responses_read() -> None:
    specs = KeySpecs(lambda: None)
    first = covering(specs, None, "X-A", "X-B")
    assert first is not None and first.names == {"x-a", "x-b"}
    assert covering(specs, first, "X-A") is first
    both = covering(specs, first, "X-C")
    assert both is not None and both.names == {"x-a", "x-b", "x-c"}
    assert covering(specs, None, "X-C", "X-B", "X-A") is both


def test_specifications_with_the_same_predicates_in_another_order_differ() -> None:
    sets, found = (frozenset(("one",)), frozenset(("two",))), []
    specs = KeySpecs(lambda: None)
    for order in (sets, sets[::-1]):
        fields = read()
        fields.get_classified("X-A", order)
        found.append(specs.covering(fields, (), None, by_client=False, by_query=False))
    first, second = found
    assert first is not None and second is not None and first.number != second.number
    assert specs.covering(fields, (), first, by_client=False, by_query=False) is first


def test_specifications_are_bounded() -> None:
    dropped: list[int] = []
    specs = KeySpecs(lambda: dropped.append(len(specs._specs)))
    numbers = set()
    for number in range(MAX_SPECS + 1):
        spec = covering(specs, None, f"X-{number}")
        assert spec is not None
        numbers.add(spec.number)
    assert (len(numbers), dropped, len(specs._specs)) == (MAX_SPECS + 1, [0], 1)
    assert covering(specs, None, *(f"X-{number}" for number in range(MAX_FIELDS + 1))) is None


def test_too_many_lists_stand_for_the_client() -> None:
    specs = KeySpecs(lambda: None)
    lists = tuple(frozenset((str(number),)) for number in range(MAX_LISTS + 1))
    spec = specs.covering(read(), lists, None, by_client=False, by_query=False)
    assert spec is not None and spec.by_client and spec.lists == ()
    spec = specs.covering(read(), lists[:2], None, by_client=False, by_query=False)
    assert spec is not None and not spec.by_client and spec.lists == lists[:2]
