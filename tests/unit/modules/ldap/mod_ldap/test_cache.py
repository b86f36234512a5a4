"""The caches of LDAP operations stay within their bounds."""

from __future__ import annotations

from whimbrel.modules.ldap.mod_ldap.cache import OperationCache, digest, same_password


def test_entries_and_bytes_are_bounded() -> None:
    cache = OperationCache(100, 600, 20_000)
    for number in range(10_000):
        cache.put(("url", str(number)), number, number % 300)
        assert len(cache) <= 100
        assert cache.bytes <= 20_000
    assert cache.get(("url", "9999")) == 9999
    assert cache.get(("url", "1")) is None
    cache.put("large", 1, 20_000)
    assert cache.get("large") is None


def test_entries_have_a_lifetime() -> None:
    now = [100.0]
    cache = OperationCache(10, 60, 10_000, lambda: now[0])
    cache.put("key", 1, 3)
    now[0] += 60
    assert cache.get("key") == 1
    now[0] += 0.1
    assert cache.get("key") is None
    assert (len(cache), cache.bytes) == (0, 0)


def test_no_entries_allowed() -> None:
    cache = OperationCache(0, 60, 10_000)
    cache.put("key", 1, 3)
    assert cache.get("key") is None


def test_passwords_are_digests() -> None:
    stored = digest("wonder\xff")
    assert b"wonder" not in stored
    assert same_password(stored, "wonder\xff")
    assert not same_password(stored, "wonder")
