"""Short form of the measure: each method twice."""

from __future__ import annotations

from tests.hostile.dav_kills import METHODS, measure
from tests.hostile.measure import Budget


def test_files_are_old_or_new() -> None:
    result = measure(Budget(2 * len(METHODS), 30))
    assert not result.failures
    assert result.figures["requests"] == 2 * len(METHODS)
