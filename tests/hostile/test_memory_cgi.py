"""Short form of the measure: a third of a second of each flood."""

from __future__ import annotations

from tests.hostile.memory_cgi import BOMBS, measure


def test_programs_that_write_without_end() -> None:
    result = measure(0.3, 256 << 20, 1)
    assert not result.failures
    assert len(result.figures) == len(BOMBS)
