"""The shared caches of LDAP operations: bounds, lifetimes, several processes, killed writers."""

from __future__ import annotations

import os
import random
import signal
import time

from whimbrel.modules.ldap.mod_ldap.cache import OperationCache, SharedMemory


def test_entries_and_bytes_are_bounded() -> None:
    shared = SharedMemory(20_000)
    before = bytes(shared.memory[18_000:])
    cache = OperationCache(shared, (0, 18_000), 100, 600)
    for number in range(10_000):
        value = [str(number), "x" * (number % 300)]
        cache.put(("url", str(number)), value)
        assert cache.get(("url", str(number))) == value
    counters = cache.counters()
    assert 30 < counters.length <= 100
    assert (counters.inserts, counters.fetches, counters.hits) == (10_000, 10_000, 10_000)
    assert cache.get(("url", "1")) is None
    cache.put(("large",), "x" * 20_000)
    assert cache.get(("large",)) is None
    assert bytes(shared.memory[18_000:]) == before


def test_the_newest_entries_stay() -> None:
    cache = OperationCache(SharedMemory(100_000), (0, 100_000), 50, 600)
    for number in range(120):
        cache.put((number,), number)
    assert [number for number in range(120) if cache.get((number,)) == number] == list(range(70, 120))


def test_entries_have_a_lifetime() -> None:
    now = [100.0]
    cache = OperationCache(SharedMemory(10_000), (0, 10_000), 10, 60, lambda: now[0])
    cache.put(("key",), 1)
    now[0] += 60
    assert cache.get(("key",)) == 1
    now[0] += 0.1
    assert cache.get(("key",)) is None
    assert len(cache) == 0


def test_no_room_allowed() -> None:
    for entries, size in ((0, 10_000), (10, 10), (10, 0)):
        cache = OperationCache(SharedMemory(size), (0, size), entries, 60)
        cache.put(("key",), 1)
        assert cache.get(("key",)) is None
        assert len(cache) == 0


def test_passwords_are_digests() -> None:
    shared = SharedMemory(10_000)
    cache = OperationCache(shared, (0, 10_000), 10, 60)
    stored = cache.hash_password(("a",), "wonder\xff")
    cache.put(("a",), stored)
    assert b"wonder" not in bytes(shared.memory)
    assert cache.is_password(("a",), cache.get(("a",)), "wonder\xff")
    assert not cache.is_password(("a",), stored, "wonder")
    assert not cache.is_password(("b",), stored, "wonder\xff")


def test_processes_share_entries_and_may_be_killed() -> None:
    cache = OperationCache(SharedMemory(6000), (0, 6000), 20, 600)
    for seed in range(20):
        children = [_writer(cache, seed + number) for number in (0, 1000)]
        time.sleep(0.01 + seed / 4000)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for key in range(50):
            value = cache.get((key,))
            assert value is None or value == [key, "v" * len(value[1])]
    counters = cache.counters()
    assert counters.inserts > 100
    assert counters.hits > 0


def _writer(cache: OperationCache, seed: int) -> int:
    child = os.fork()
    if child == 0:
        dice = random.Random(seed)
        while True:
            key = dice.randrange(50)
            cache.put((key,), [key, "v" * dice.randrange(400)])
    return child
