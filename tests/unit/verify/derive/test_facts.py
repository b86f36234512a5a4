"""Changes of a probe: each one alone, and the changes of two conditions."""

from __future__ import annotations

import pytest

from whimbrel.verify.derive.facts import Facts, distinct
from whimbrel.verify.probe import Probe

EACH = {
    "method": "PUT",
    "client": "10.0.0.1",
    "client_host": "c.test",
    "host": "a.test",
    "target": "/t",
    "protocol": "HTTP/1.0",
    "fields": (("X-A", "1"),),
}


@pytest.mark.parametrize("name", EACH)
def test_one_change_alters_nothing_else(name: str) -> None:
    facts = Facts(**{name: EACH[name]})  # type: ignore[arg-type]
    plain = Probe("/p?q", host="b.test")
    changed = facts.applied(plain)
    assert getattr(changed, name) == EACH[name]
    others = [other for other in EACH if other != name]
    assert [getattr(changed, other) for other in others] == [getattr(plain, other) for other in others]
    assert not facts.is_empty


def test_a_query_replaces_the_query() -> None:
    assert Facts(query="x=1").applied(Probe("/p?y?z")).target == "/p?x=1"
    assert Facts(target="/t", query="x").applied(Probe("/p?y")).target == "/t?x"


@pytest.mark.parametrize("name", [*EACH, "query"])
def test_of_two_changes_the_second_wins(name: str) -> None:
    first = {"fields": (("x-a", "0"), ("X-B", "2"))}.get(name, "old")
    second = {"fields": (("X-A", "1"),)}.get(name, "new")
    one, other = Facts(**{name: first}), Facts(**{name: second})  # type: ignore[arg-type]
    expected = {"fields": (("X-B", "2"), ("X-A", "1"))}.get(name, "new")
    assert getattr(one.joined(other), name) == expected
    assert one.joined(Facts()) == one and Facts().joined(one) == one


def test_empty_and_equal_changes_are_left_out() -> None:
    assert distinct([Facts(), Facts(method="PUT"), Facts(host="a"), Facts(method="PUT")]) == [
        Facts(method="PUT"),
        Facts(host="a"),
    ]
