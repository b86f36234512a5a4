"""Which clients are possible, and how they are told."""

from __future__ import annotations

from whimbrel.access.atoms import (
    AddressSet,
    HasCredentials,
    HostIn,
    KnownUser,
    MethodIs,
    Opaque,
    PasswordValid,
    UserIn,
    address_set,
)
from whimbrel.access.clients import ClientCredentials, ExampleClient, find_client
from whimbrel.access.space import Space
from whimbrel.base.net import parse_written


def networks(*words: str) -> AddressSet:
    return address_set(map(parse_written, words))


def test_an_example_is_a_host_of_a_network_and_not_its_address() -> None:
    """RFC 1122, 3.2.1.3: an address whose host number is zero names no host."""
    space = Space()
    block, one, wide = (
        space.variable(networks(word)) for word in ("10.20.0.0/16", "10.9.9.9", "2001:db9::/32")
    )
    for formula, address in ((block, "10.20.0.1"), (one, "10.9.9.9"), (wide, "2001:db9::1")):
        client = find_client(space, formula)
        assert client is not None and client.address == address


def test_addresses_that_lie_in_one_set_and_not_in_another() -> None:
    space = Space()
    host, block, other = (space.variable(networks(word)) for word in ("127.0.0.1", "127", "10"))
    assert find_client(space, host & ~block) is None and find_client(space, block & other) is None
    client = find_client(space, block, ~host)
    assert client is not None and client.address.startswith("127.") and client.address != "127.0.0.1"


def test_ipv6_where_nothing_else_is_left() -> None:
    space = Space()
    client = find_client(space, ~space.variable(networks("0.0.0.0/1", "128.0.0.0/1")))
    assert client is not None and ":" in client.address


def test_methods_and_users_exclude_each_other() -> None:
    space = Space()
    get, post = space.variable(MethodIs("GET")), space.variable(MethodIs("POST"))
    assert find_client(space, get & post) is None
    other = find_client(space, ~get & ~post)
    assert other is not None and other.method not in ("GET", "POST")
    bob, both = (
        space.variable(UserIn(frozenset({"bob"}))),
        space.variable(UserIn(frozenset({"bob", "alice"}))),
    )
    assert find_client(space, bob & ~both) is None
    alice = find_client(space, both & ~bob)
    assert alice is not None and alice.credentials == ClientCredentials("alice", True)


def test_passwords_belong_to_users_who_belong_to_credentials() -> None:
    space = Space()
    sends, known, right = (
        space.variable(a)
        for a in (HasCredentials("basic"), KnownUser("basic", "f"), PasswordValid("basic", "f"))
    )
    assert find_client(space, right & ~known) is None and find_client(space, known & ~sends) is None
    assert find_client(space, space.variable(UserIn(frozenset({"bob"}))) & ~sends) is None
    wrong = find_client(space, known & ~right)
    assert wrong is not None and str(wrong) == "GET from 192.0.2.1 as somebody with a wrong password"
    unknown = find_client(space, sends & ~known)
    assert unknown is not None and str(unknown) == "GET from 192.0.2.1 as somebody, whom nobody knows"


def test_host_names() -> None:
    space = Space()
    one, inner = (
        space.variable(HostIn(frozenset({"example.org"}))),
        space.variable(HostIn(frozenset({".example.org"}))),
    )
    assert find_client(space, inner & ~one) is None
    exact = find_client(space, one & ~inner)
    assert exact is not None and exact.host == "example.org"


def test_the_words() -> None:
    client = ExampleClient(
        "10.0.0.1",
        "PUT",
        "a.test",
        ClientCredentials("eve", True, ("staff", "all")),
        ("flag",),
        True,
        (("expr x", False),),
    )
    assert str(client) == (
        "PUT from 10.0.0.1 (a.test), an address of the server's own, as eve in staff, "
        "all, with flag set, expr x: no"
    )


def test_opaque_questions_are_told() -> None:
    space = Space()
    client = find_client(space, space.variable(Opaque("expr true")))
    assert client is not None and client.opaque_answers == (("expr true", True),)


def test_masks_with_gaps() -> None:
    space = Space()
    gaps, block = space.variable(networks("127.0.0.0/255.0.255.0")), space.variable(networks("127"))
    inside, outside = find_client(space, gaps & block), find_client(space, ~gaps & block)
    assert (
        inside is not None
        and inside.opaque_answers == ()
        and networks("127.0.0.0/255.0.255.0").holds(inside.address)
    )
    assert outside is not None and not networks("127.0.0.0/255.0.255.0").holds(outside.address)
