"""Random nestings of sections: what the upgraded text answers otherwise than 2.2 is marked and is found.

`make upgrade-access` asks more; this is its first minute.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.servers import APACHE
from tests.support.samples import amount
from tests.upgrade.nested_sections import run

ZONES = amount(5, 20)
needs_apache = pytest.mark.skipif(not APACHE.present, reason="needs apache2 with its modules")


@needs_apache
def test_no_answer_differs_without_a_mark(open_path: Path) -> None:
    found = run(ZONES, 1, open_path)
    assert found.asked > 250 * ZONES
    assert {200, 401, 403, 404} <= found.statuses.keys()
    assert found.unmarked == []
    assert found.unnoticed == []
