"""Short form of the measure: some hundred requests."""

from __future__ import annotations

from tests.hostile.measure import Budget
from tests.hostile.proxy_faults import run


def test_faulty_back_ends_leave_nothing_behind() -> None:
    result = run(Budget(1500, 10))
    assert result.failures == []
    assert int(result.figures["requests"]) > 500
    assert int(result.figures["faulty"]) > 10
