"""Comparison of two runs."""

from __future__ import annotations

from typing import Any

from bench.compare import Change, changes

from tests.bench.runs import full, half, run


def ranged(value: float, low: float, high: float) -> dict[str, Any]:
    row = full(value)
    row["range"]["requests_per_cpu_second"] = [low, high]
    return {"1k": {"whimbrel": row}}


def test_rounds_that_overlap_are_noise() -> None:
    assert changes(run(ranged(1000, 900, 1100)), run(ranged(1200, 1090, 1300))) == []


def test_rounds_that_do_not_are_a_change() -> None:
    expected = Change("1k, whimbrel", "requests_per_cpu_second", 1000, 1200, True)
    assert changes(run(ranged(1000, 900, 1100)), run(ranged(1200, 1110, 1300))) == [expected]
    assert [one.better for one in changes(run(ranged(1200, 1110, 1300)), run(ranged(1000, 900, 1100)))] == [
        False
    ]


def test_less_memory_and_shorter_times_are_better() -> None:
    old = run({"1k": {"whimbrel": full(memory=40.0)}}, {"1k": {"whimbrel": {"own": half(3.0)}}})
    new = run({"1k": {"whimbrel": full(memory=30.0)}}, {"1k": {"whimbrel": {"own": half(4.0)}}})
    expected = [("peak_memory_mb", True), ("worker_memory_mb", True), ("latency_p99_ms", False)]
    assert [(one.figure, one.better) for one in changes(old, new)] == expected


def test_times_of_requests_that_were_sent_in_another_way_are_not_compared() -> None:
    old, new = (run({}, {"1k": {"whimbrel": {"own": half(value)}}}) for value in (3.0, 4.0))
    assert len(changes(old, new)) == 1
    assert changes(old, {**new, "pace": "spread"}) == []


def test_a_change_of_one_in_a_hundred_is_none() -> None:
    assert changes(run(ranged(1000, 1000, 1000)), run(ranged(1010, 1010, 1010))) == []


def test_cases_of_one_run_only_and_files_without_ranges() -> None:
    old: dict[str, Any] = run({"1k": {"whimbrel": {"figures": {"requests_per_cpu_second": 1000.0}}}})
    new = run({**ranged(2000, 1900, 2100), "404": {"whimbrel": full()}})
    assert [(one.where, one.better) for one in changes(old, new)] == [("1k, whimbrel", True)]
