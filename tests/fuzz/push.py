"""Push parsers fed whole, byte by byte and in two pieces: all must come to the same result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Outcome = TypeVar("Outcome")
BYTEWISE = 600  # bytes of the longest input that is fed byte by byte
FEW = 7  # bytes of the pieces of a longer one


def pieces_of(data: bytes, size: int) -> list[bytes]:
    """Return *data* in pieces of *size* bytes."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def splits(data: bytes) -> Iterable[list[bytes]]:
    """Yield *data* as lists of pieces, whole first."""
    yield [data]
    if not data:
        return
    yield pieces_of(data, 1 if len(data) <= BYTEWISE else max(FEW, len(data) // BYTEWISE))
    cut = data[0] * len(data) // 256
    yield [data[:cut], data[cut:]]


def same_for_all_splits(outcome: Callable[[list[bytes]], Outcome], data: bytes) -> Outcome:
    """Return *outcome* of the whole data; raise AssertionError if it depends on the pieces."""
    results = [outcome(pieces) for pieces in splits(data)]
    for result in results[1:]:
        assert result == results[0], (result, results[0])
    return results[0]
