"""Order, Allow and Deny of both versions."""

from __future__ import annotations

import pytest
from tests.support.statuses import ALLOWED, DENIED
from tests.unit.access.decisions import answer, decision_of

from whimbrel.access.space import Space

VERSIONS = ("2.2", "2.4")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("order", "expected"),
    (
        ("allow,deny", (DENIED, DENIED, ALLOWED, DENIED)),
        ("deny,allow", (ALLOWED, ALLOWED, ALLOWED, DENIED)),
        ("mutual-failure", (DENIED, DENIED, ALLOWED, DENIED)),
    ),
)
def test_orders(version: str, order: str, expected: tuple[int, ...]) -> None:
    decision = decision_of(version, f"Order {order}\nAllow from 10\nDeny from 10.1 11")
    neither, both, allowed, denied = "192.0.2.1", "10.1.0.1", "10.2.0.1", "11.0.0.1"
    assert tuple(answer(decision, address) for address in (neither, both, allowed, denied)) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_an_inner_section_replaces_the_record(version: str) -> None:
    assert answer(decision_of(version, "Order deny,allow\nDeny from all", "Allow from 127.0.0.1")) == 200


@pytest.mark.parametrize("version", VERSIONS)
def test_kinds_of_words(version: str) -> None:
    decision = decision_of(version, "Order allow,deny\nAllow from .example.org env=Good env=!bad 10.0.0.0/8")
    assert answer(decision) == 200 and answer(decision, environment=("bad",)) == 403
    assert (
        answer(decision, environment=("bad", "good"))
        == answer(decision, "10.1.1.1", environment=("bad",))
        == 200
    )
    assert answer(decision, environment=("bad",), host="a.example.org") == 200


def test_ten_thousand_networks_are_one_variable() -> None:
    words = [f"10.{n // 256}.{n % 256}.0/24" for n in range(10000)]
    space = Space()
    old = decision_of("2.2", "Order deny,allow\nDeny from all\nAllow from " + " ".join(words), space=space)
    new = decision_of("2.4", "\n".join(f"Require ip {word}" for word in reversed(words)), space=space)
    assert old.is_equivalent(new) and len(space.diagram) < 10
    assert str(
        old.difference(decision_of("2.4", "Require ip " + " ".join(words[1:]), space=space))
    ).startswith("GET from 10.0.0.")
