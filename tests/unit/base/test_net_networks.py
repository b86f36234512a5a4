"""Networks: what APR accepts and refuses (config-args and config-full recordings), and lists of them against
a plain reference.
"""

from __future__ import annotations

import ipaddress
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.base.net import (
    INVALID_ADDRESS,
    INVALID_MASK,
    InvalidNetwork,
    Network,
    Networks,
    numeric_address,
    parse_written,
)


@pytest.mark.parametrize(
    ("written", "inside", "outside"),
    [
        ("10", "10.255.0.1", "11.0.0.0"),
        ("10.1.", "10.1.2.3", "10.2.0.0"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
        ("127.0.0.1/1", "1.2.3.4", "128.0.0.1"),
        ("127.0.0.0/255.255.255.254", "127.0.0.1", "127.0.0.2"),
        ("010.1", "10.1.9.9", "8.1.0.0"),
        ("10.0.0.1/255.0.0.255", "10.9.9.1", "10.9.9.2"),
        ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
        ("::1", "::1", "::2"),
        ("192.168.0.0/16", "::ffff:192.168.3.4", "::ffff:192.169.0.1"),
    ],
)
def test_membership(written: str, inside: str, outside: str) -> None:
    networks = Networks([parse_written(written)])
    assert inside in networks
    assert outside not in networks


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("1.2.3.4.5", INVALID_ADDRESS),
        ("300.1.1.1", INVALID_ADDRESS),
        ("::zz", INVALID_ADDRESS),
        ("10..1", INVALID_ADDRESS),
        ("256.1", INVALID_ADDRESS),
        ("1234", INVALID_ADDRESS),
        ("fe80::1%eth0", INVALID_ADDRESS),
        ("::ffff:1.2.3.4", INVALID_ADDRESS),
        ("unix:", INVALID_ADDRESS),
        ("127/8", INVALID_ADDRESS),
        ("127.0/16", INVALID_ADDRESS),
        ("[::1]", INVALID_ADDRESS),
        ("127.0.0.1:80", INVALID_ADDRESS),
        ("10.0.0.0/x", INVALID_MASK),
        ("10.0.0.0/99", INVALID_MASK),
        ("10.0.0.0/0", INVALID_MASK),
        ("2001:db8::/129", INVALID_MASK),
        ("10.0.0.0/255.255.0.0.0", INVALID_MASK),
        ("10.1.2.0/33", INVALID_MASK),
        ("abc", ""),
        ("1.2.3.4,", ""),
        ("*/8", ""),
        ("/8", ""),
        ("1.2.3.4-5.6.7.8", ""),
    ],
)
def test_refused(written: str, reason: str) -> None:
    with pytest.raises(InvalidNetwork) as problem:
        parse_written(written)
    assert problem.value.reason == reason


def test_many_networks_agree_with_ipaddress() -> None:
    chance = random.Random(4)
    written = [f"{ipaddress.IPv4Address(chance.getrandbits(32))}/{chance.randint(4, 32)}" for _ in range(300)]
    reference = [ipaddress.ip_network(w, strict=False) for w in written]
    networks = Networks(parse_written(w) for w in written)
    for _ in range(2000):
        address = ipaddress.IPv4Address(chance.getrandbits(32))
        assert (str(address) in networks) == any(address in n for n in reference)


def test_what_is_no_address_is_in_no_list() -> None:
    assert numeric_address("nonsense") == (False, -1)
    assert "nonsense" not in Networks([parse_written("0.0.0.0/1"), parse_written("0.0.0.1/0.0.0.1")])


@pytest.mark.parametrize(
    ("text", "is_address"),
    [
        ("fe80::1%eth0.1", True),
        ("fe80::1%2", True),
        ("2001:db8::1%eth0", False),
        ("192.0.2.1%eth0", False),
        ("fe80::1%", False),
        ("fe80::1%$(id)", False),
        ("fe80::1%../x", False),
    ],
)
def test_link_local_addresses_alone_have_a_zone(text: str, is_address: bool) -> None:
    """RFC 4007, section 11. A proxy's field may name any text: it goes into names of files and commands."""
    assert (numeric_address(text)[1] >= 0) is is_address


octets4 = st.integers(0, 2**32 - 1)
pairs = st.tuples(
    octets4, st.sampled_from((0, 1, 8, 24, 31, 32, -1))
)  # an address and the bits of its mask; -1 for one with holes


@given(st.lists(st.lists(pairs, max_size=5), max_size=4), octets4)
def test_a_union_has_what_any_of_its_sets_has(sets: list[list[tuple[int, int]]], client: int) -> None:
    made = []
    for pairs in sets:
        masks = [
            (value, (0xFFFFFFFF << (32 - bits)) & 0xFFFFFFFF if bits >= 0 else 0xFF00FF00)
            for value, bits in pairs
        ]
        made.append(Networks(Network(False, value & mask, mask) for value, mask in masks))
    address = ".".join(str(client >> shift & 255) for shift in (24, 16, 8, 0))
    assert (address in Networks.union(made)) == any(address in one for one in made)


def test_ipv6_networks_are_joined_as_well() -> None:
    joined = Networks.union(
        [Networks([parse_written(w)]) for w in ("2001:db8:1::/48", "2001:db8::/48", "fe80::1", "10.1")]
    )
    assert [
        a in joined
        for a in (
            "2001:db8:1:ffff::1",
            "2001:db8::",
            "2001:db8:2::",
            "fe80::1",
            "fe80::2",
            "10.1.255.255",
            "10.2.0.0",
        )
    ] == [True, True, False, True, False, True, False]
