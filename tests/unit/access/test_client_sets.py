"""Sets of clients in words: exact, or without words."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.access.atoms import (
    AddressSet,
    GroupMember,
    HasCredentials,
    HostIn,
    KnownUser,
    MethodIs,
    Opaque,
    PasswordValid,
    UserIn,
    address_set,
)
from whimbrel.access.client_sets import MAX_BOUNDS, clients_text
from whimbrel.access.space import Function, Space
from whimbrel.base.net import parse_written

STAFF = GroupMember("file x", "staff")
VALID = PasswordValid("basic", "x")


def networks(*words: str) -> AddressSet:
    return address_set(map(parse_written, words))


def test_addresses() -> None:
    space = Space()
    ten, part, six = (space.variable(networks(word)) for word in ("10", "10.1.66.0/24", "2001:db8::/32"))
    assert clients_text(space, ten) == "10.0.0.0/8"
    assert clients_text(space, part & ten) == "10.1.66.0/24"
    assert clients_text(space, ten | six) == "10.0.0.0/8, 2001:db8::/32"
    assert clients_text(space, ~(ten | six)) == "everybody but 10.0.0.0/8, 2001:db8::/32"
    assert clients_text(space, ~part & ten) == ""  # too many networks to name
    assert clients_text(space, ~space.variable(networks("192.0.2.66"))) == "everybody but 192.0.2.66"
    assert clients_text(space, space.true) == "everybody"
    assert clients_text(space, space.false) == ""


def user(space: Space) -> Function:
    """Return the condition of a user with the right password."""
    return (
        space.variable(HasCredentials("basic"))
        & space.variable(KnownUser("basic", "x"))
        & space.variable(VALID)
    )


def test_users() -> None:
    space = Space()
    office, robin = space.variable(networks("10.1")), space.variable(UserIn(frozenset(("robin",))))
    staff = space.variable(STAFF)
    assert clients_text(space, office & ~user(space)) == "10.1.0.0/16: without a valid password"
    assert clients_text(space, user(space)) == "from any address as any user"
    assert clients_text(space, ~office & user(space) & robin) == "everybody but 10.1.0.0/16: as robin"
    assert clients_text(space, user(space) & ~robin) == "from any address as another user"
    assert clients_text(space, user(space) & staff) == "from any address as any user in staff"
    assert clients_text(space, user(space) & ~staff) == "from any address as any user outside of staff"
    both = office & ~user(space) | ~office & user(space)
    assert sorted(clients_text(space, both).split("; ")) == [
        "10.1.0.0/16: without a valid password",
        "everybody but 10.1.0.0/16: as any user",
    ]


@pytest.mark.parametrize("atom", [Opaque("expr x"), HostIn(frozenset((".example.org",)))])
def test_other_facts_have_no_words(atom: Opaque | HostIn) -> None:
    space = Space()
    assert clients_text(space, space.variable(atom) & space.variable(networks("10"))) == ""


def test_methods_are_those_of_a_get() -> None:
    space = Space()
    get, post = space.variable(MethodIs("GET")), space.variable(MethodIs("POST"))
    assert clients_text(space, get & space.variable(networks("10"))) == "10.0.0.0/8"
    assert clients_text(space, post) == ""


def test_long_lists_have_no_words() -> None:
    space = Space()
    many = networks(*(f"10.{n >> 8}.{n & 255}.1" for n in range(MAX_BOUNDS)))
    assert clients_text(space, space.variable(many)) == ""


NETWORKS = st.builds(
    lambda number, length: ipaddress.ip_network((number, length), strict=False),
    st.integers(0, (1 << 32) - 1),
    st.integers(1, 6),
)


@given(st.lists(NETWORKS, min_size=1, max_size=3), st.lists(NETWORKS, max_size=3), st.booleans())
def test_the_words_mean_the_condition(
    first: list[ipaddress.IPv4Network], second: list[ipaddress.IPv4Network], is_negated: bool
) -> None:
    """An address is in the text if, and only if, the condition holds for it."""
    space = Space()
    sets = [networks(*map(str, one)) for one in (first, second) if one]
    function = space.variable(sets[0])
    function = function & ~space.variable(sets[-1]) if len(sets) > 1 else function
    function = ~function if is_negated else function
    text = clients_text(space, function)
    if not text:
        return
    words = [ipaddress.ip_network(word) for word in re.findall(r"[\da-f:.]+(?:/\d+)?(?=,|$)", text)]
    for number in range(0, 1 << 32, (1 << 25) - 3):
        address = ipaddress.ip_address(number)
        is_named = any(address in word for word in words)
        is_meant = not is_named if text.startswith("everybody") else is_named
        values = {one: one.holds(str(address)) for one in sets}
        assert is_meant is (space.fixed(function, values) == space.true), (text, address)
