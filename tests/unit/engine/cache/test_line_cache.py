"""Access-log lines that are shared within one second."""

from __future__ import annotations

import sys

from whimbrel.engine.cache.line_cache import MAX_LINE_BYTES, LineCache


def test_entries_end_with_their_second() -> None:
    cache = LineCache()
    cache.begin(7)
    cache.put((1, "a"), (b"line",), 10)
    assert cache.second == 7 and cache.entries == {(1, "a"): (b"line",)}
    cache.begin(8)
    assert cache.second == 8 and cache.entries == {}


def test_lines_that_all_differ_take_a_bounded_number_of_bytes() -> None:
    cache, most = LineCache(), 0
    for number in range(3000):
        head = b"%d-%b" % (number, b"\xff" * (number % 4000))
        cache.put((1, (head,), "127.0.0.1", 0), (head * 4,), len(head))
        most = max(
            most,
            sum(
                sys.getsizeof(key[1][0]) + sys.getsizeof(lines[0]) + 300
                for key, lines in cache.entries.items()
            ),
        )
    assert MAX_LINE_BYTES / 4 < most <= MAX_LINE_BYTES
    assert (1, (head,), "127.0.0.1", 0) in cache.entries
