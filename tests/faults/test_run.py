"""The table of faults: its rows in docs/reliability.md, the choice of cells, and what breaks a promise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from tests.faults.cell import Observation, failures, traceback_ends
from tests.faults.loads import LOADS
from tests.faults.plan import FAULTS
from tests.faults.run import (
    CellResult,
    cell_names,
    cell_rows,
    chosen_cells,
    document,
    read_results,
    write_results,
)
from tests.hostile.measure import Result
from tests.hostile.run import Run, measures, table_rows
from tests.hostile.run import document as document_of_measures

DOCUMENT = Path(__file__).parents[2] / "docs/reliability.md"
GOOD = Observation({"right": 10}, recovery=0.0)


def test_the_document_has_a_row_for_each_cell() -> None:
    assert list(cell_rows(DOCUMENT.read_text())) == cell_names()


def test_the_document_has_every_promise() -> None:
    text = DOCUMENT.read_text()
    assert [
        fault.name for fault in FAULTS.values() if f"| `{fault.name}` | {fault.promise} |" not in text
    ] == []


def test_a_run_replaces_its_own_row_alone() -> None:
    before = DOCUMENT.read_text()
    result = CellResult(Observation({"right": 7, "500": 2, "reset": 1}, 0.25, 1.5), None)
    after = document({"slow-disk/proxy": result}, before)
    changed = set(after.splitlines()) - set(before.splitlines())
    wanted = "| `slow-disk/proxy` | holds | right 7, 500 2, reset 1 | 0.2 | 1.5 | 0 and 0 | 0 | 0 and 0 | - |"
    assert changed == {wanted}
    assert len(after.splitlines()) == len(before.splitlines())
    assert table_rows(after) == table_rows(before)


def test_a_run_of_measures_leaves_the_section() -> None:
    before = DOCUMENT.read_text()
    name = next(iter(table_rows(before)))
    after = document_of_measures({name: Run(Result(), 2.0, None)}, measures(), before)
    assert cell_rows(after) == cell_rows(before)
    assert document_of_measures({}, measures(), before) == before
    assert document({}, before) == before


def test_results_are_stored_beside_others(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first = CellResult(GOOD, GOOD, [])
    second = CellResult(replace(GOOD, recovery=None), None, ["not complete after 5 s"])
    write_results(path, {"b/static": first})
    write_results(path, {"a/static": second})
    assert read_results(path) == {"a/static": second, "b/static": first}
    assert read_results(tmp_path / "none") == {}


def test_cells_are_chosen_by_fault_load_and_name() -> None:
    assert chosen_cells([]) == cell_names()
    assert chosen_cells(["slow-disk"]) == [f"slow-disk/{load}" for load in LOADS]
    assert chosen_cells(["proxy"]) == [f"{fault}/proxy" for fault in FAULTS]
    assert chosen_cells(["reload/static", "reload/proxy"]) == ["reload/static", "reload/proxy"]
    with pytest.raises(ValueError, match="no such fault, load or cell: nothing"):
        chosen_cells(["nothing"])


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({}, []),
        ({"outcomes": {"500": 3}}, ["no right response"]),
        ({"outcomes": {"right": 1, "wrong": 2}}, ["2 responses: wrong"]),
        ({"outcomes": {"right": 1, "reset": 2}}, ["2 responses: reset"]),
        ({"outcomes": {"right": 1, "unanswered": 1}, "slowest": 15.0}, ["1 responses: unanswered"]),
        ({"lost": 1}, ["1 lines lost"]),
        ({"repeated": 1}, ["1 lines without a request"]),
        ({"tracebacks": 1}, ["1 tracebacks"]),
        ({"processes": 1}, ["1 processes left"]),
        ({"descriptors": 17}, ["17 descriptors more"]),
        ({"recovery": None}, ["not complete after 5 s"]),
    ],
)
def test_what_breaks_a_promise(change: dict[str, object], failure: list[str]) -> None:
    assert failures(FAULTS["full-disk"], LOADS["static"], replace(GOOD, **change)) == failure  # type: ignore[arg-type]


def test_what_some_promises_allow() -> None:
    killed = replace(GOOD, outcomes={"right": 1, "reset": 3}, lost=6, killed=1)
    assert failures(FAULTS["killed-workers"], LOADS["static"], killed) == []
    assert failures(FAULTS["killed-workers"], LOADS["static"], replace(killed, lost=7)) == ["7 lines lost"]
    assert failures(FAULTS["slow-disk"], LOADS["static"], GOOD) == ["the fault hit nothing"]
    assert failures(FAULTS["slow-disk"], LOADS["proxy"], GOOD) == []
    slow = replace(GOOD, slowest=3.0, hits=1)
    assert failures(FAULTS["hung-lookups"], LOADS["proxy"], slow) == ["a response took 3.0 seconds"]


def test_tracebacks_are_found_in_their_one_line() -> None:
    log = '[crit] Traceback (most recent call last):\\n  File "a.py", line 1, in f\\nOSError: x\nnext\n'
    assert traceback_ends(log) == ['File "a.py", line 1, in f | OSError: x']
