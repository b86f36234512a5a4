"""Each fuzz target on its seeds and on changed ones, the same ones in each run."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.fuzz.target import CHANGED, check_input, load, mutations, names
from tests.support.samples import amount


@pytest.mark.parametrize("name", names())
def test_seeds_and_changed_seeds(name: str) -> None:
    target = load(name)
    seeds = list(target.seeds())
    assert seeds
    changed = getattr(target, "CHANGED", CHANGED)
    count = amount(changed // 3, changed)
    for data in [*seeds, *islice(mutations(target, seeds, 1), count)]:
        try:
            check_input(target, data)
        except Exception as problem:
            raise AssertionError(f"{name}: {data!r}") from problem
