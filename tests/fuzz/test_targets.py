"""Each fuzz target on its seeds and on 200 changed ones."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.fuzz.target import check_input, load, mutations, names

CHANGED = 200


@pytest.mark.parametrize("name", names())
def test_seeds_and_changed_seeds(name: str) -> None:
    target = load(name)
    seeds = list(target.seeds())
    assert seeds
    for data in [*seeds, *islice(mutations(target, seeds, 1), CHANGED)]:
        try:
            check_input(target, data)
        except Exception as problem:
            raise AssertionError(f"{name}: {data!r}") from problem
