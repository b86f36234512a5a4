"""Results of invented runs, for the tests of reports."""

from __future__ import annotations

from typing import Any


def summed(**figures: float) -> dict[str, Any]:
    """Return one server's row: the figures, equal in all rounds."""
    return {
        "figures": figures,
        "range": {name: [value, value] for name, value in figures.items()},
        "ratio_to_apache": {},
    }


def full(per_cpu: float = 1000.0, memory: float = 10.0) -> dict[str, Any]:
    """Return a row at full load; *memory* is the worker's, all processes have half as much again."""
    memories = {"peak_memory_mb": memory * 1.5, "worker_memory_mb": memory}
    return summed(
        requests_per_cpu_second=per_cpu,
        requests_per_second=per_cpu,
        latency_p50_ms=1.0,
        latency_p99_ms=2.0,
        **memories,
    )


def half(p99: float, held: float = 1.0) -> dict[str, Any]:
    """Return a row at half load."""
    return summed(
        requests_per_second=500.0,
        held=held,
        latency_p50_ms=0.5,
        latency_p99_ms=p99,
        latency_p999_ms=p99 * 2,
        latency_worst_ms=p99 * 3,
    )


def run(cases: dict[str, Any], halves: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the JSON of a run."""
    return {
        "seconds": 1,
        "rounds": 3,
        "servers": {"apache": "2.4"},
        "cases": cases,
        "half": halves or {},
        "extras": {},
        **more,
    }
