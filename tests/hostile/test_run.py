"""docs/reliability.md: a row for each measure, and a run of some measures keeps the rows of the others."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.measure import Result
from tests.hostile.run import Run, document, measures, table_rows

DOCUMENT = Path(__file__).parents[2] / "docs/reliability.md"


def test_the_document_has_a_row_for_each_measure() -> None:
    assert table_rows(DOCUMENT.read_text()).keys() == measures().keys()


def test_a_run_replaces_its_own_row_alone() -> None:
    before = DOCUMENT.read_text()
    name = next(iter(table_rows(before)))
    after = document({name: Run(Result(figures={"requests": 1}), 2.0, None)}, measures(), before)
    changed = set(after.splitlines()) - set(before.splitlines())
    assert [line.endswith("| holds | 2 | - | requests 1 |") for line in changed] == [True]
    assert len(after.splitlines()) == len(before.splitlines())
