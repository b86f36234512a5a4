"""Sets of addresses and names."""

from __future__ import annotations

from itertools import product

from whimbrel.access.atoms import HostIn, address_set
from whimbrel.base.net import parse_written
from whimbrel.modules.support.reverse_dns import in_domain


def test_equal_sets_are_equal_however_they_are_written() -> None:
    halves = address_set(map(parse_written, ("10.1.128.0/17", "10.1.0.0/17", "10.1.3.4")))
    assert (
        halves == address_set([parse_written("10.1")]) == address_set([parse_written("10.1.0.0/255.255.0.0")])
    )
    assert halves != address_set([parse_written("10.1.0.0/17")])


def test_who_is_in_a_set() -> None:
    found = address_set(map(parse_written, ("10.0.0.0/30", "10.0.0.4", "fe80::/10", "127.0.0.0/255.0.255.0")))
    inside = ("10.0.0.0", "10.0.0.4", "fe80::1", "127.9.0.9", "::ffff:10.0.0.1")
    outside = ("10.0.0.5", "9.255.255.255", "::1", "127.0.1.0", "fec0::")
    assert all(map(found.holds, inside)) and not any(map(found.holds, outside))


def test_hosts_match_as_one_by_one() -> None:
    domains = ("example.org", ".example.org", "org", "www.example.org", "xample.org", "org.", "", "a", ".")
    names = (
        "example.org",
        "www.example.org",
        "badexample.org",
        "a.www.example.org",
        "org",
        "a",
        "a.a",
        "ba",
        "org.",
        "example.org.",
    )
    for domain, name in product(domains, names):
        assert HostIn(frozenset({domain})).holds(name) == in_domain(domain, name), (domain, name)
    assert not HostIn(frozenset(domains)).holds(None)
