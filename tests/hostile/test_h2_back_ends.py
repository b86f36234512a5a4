"""Short form of the measure: each fault once."""

from __future__ import annotations

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from tests.hostile.h2_back_ends import run
from tests.hostile.measure import Budget
from tests.support.faulty_http2_backend import FAULTS


def test_broken_back_ends_stop_nothing_else() -> None:
    result = run(Budget(len(FAULTS) // 4, 60))
    assert result.failures == []
    assert int(result.figures["kinds"]) > 90
