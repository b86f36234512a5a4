"""Random sections that conditional blocks split: the upgraded text answers as the original for every
combination of names, on a real apache2.

`make upgrade-access` asks more; this is its first minute.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.differential.servers import APACHE
from tests.support.samples import amount
from tests.upgrade.conditional_access import run
from tests.upgrade.split_sections import PLACES, split_section

needs_apache = pytest.mark.skipif(not APACHE.present, reason="needs apache2 with its modules")
SECTIONS = 48


@needs_apache
@pytest.mark.parametrize("seed", range(1, amount(2, 3)))
def test_no_answer_differs_without_a_mark_and_none_is_opened(open_path: Path, seed: int) -> None:
    found = run(SECTIONS, seed, open_path)
    assert found.asked > 10_000
    assert {200, 401, 403} <= found.statuses.keys()
    assert found.opened == []
    assert found.unmarked == []
    assert found.changed_again == []
    assert 10 * len(found.marked_of_servers) <= SECTIONS


def test_every_place_is_tried() -> None:
    chance = random.Random(1)
    assert {split_section(number, chance).place for number in range(SECTIONS)} == set(PLACES)
