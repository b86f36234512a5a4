"""The short form of memory_http1.py and floods_http1.py."""

from __future__ import annotations

import pytest

from tests.hostile.floods_http1 import latency, pipelining
from tests.hostile.measure import Budget
from tests.hostile.memory_http1 import (
    MOST,
    Attack,
    compressed,
    growth,
    pipelined,
    unique_agents,
    unique_heads,
)
from tests.hostile.server import WHIMBREL


@pytest.mark.parametrize(
    ("attack", "cases"), [(pipelined, 1), (compressed, 1), (unique_agents, 3000), (unique_heads, 3000)]
)
def test_an_attack_takes_little_memory(attack: Attack, cases: int) -> None:
    more, done, failures = growth(WHIMBREL, attack, Budget(cases, 15))
    assert failures == [] and done > 0
    assert more < MOST


def test_an_honest_client_is_served_beside_pipelined_requests() -> None:
    p99, asked = latency(WHIMBREL, pipelining, 2)
    assert asked > 20 and p99 < 0.5
