"""Samples as figures: medians over the rounds, the range between them, ratios to apache, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.load import Sample
from bench.targets import HELD, Condition

Figures = dict[str, float]
BASE = "apache"
MEMORY = ("peak_memory_mb", "worker_memory_mb")  # of all processes, and of the worker
WORDS = {True: "met", False: "not met", None: "not measured"}
HALF_HEADS = (
    "case",
    "server",
    "half of",
    "requests per second",
    "p50 ms",
    "p99 ms",
    "±",
    "p99.9 ms",
    "worst ms",
)
COLOURS = {True: "green", False: "red", None: "yellow"}


def of_sample(sample: Sample) -> Figures:
    """Return the figures of one run at full load."""
    return {
        "requests_per_cpu_second": sample.per_cpu_second,
        "requests_per_second": sample.requests / sample.seconds,
        "latency_p50_ms": sample.p50,
        "latency_p99_ms": sample.p99,
        "peak_memory_mb": sample.memory.all / 1e6,
        "worker_memory_mb": sample.memory.worker / 1e6,
    }


def summed(rows: Sequence[Figures]) -> dict[str, Any]:
    """Merge the rounds:

    `figures` are medians (of memory the largest), `range` the smallest and the largest.
    """
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    figures = {name: max(values) if name in MEMORY else median(values) for name, values in columns.items()}
    return {
        "figures": figures,
        "range": {name: [min(values), max(values)] for name, values in columns.items()},
    }


def ratios(mine: Figures, base: Figures) -> Figures:
    """Return every figure as a multiple of the base server's."""
    return {name: value / base[name] for name, value in mine.items() if base[name]}


def model(samples: Mapping[str, Mapping[str, Sequence[Sample]]]) -> dict[str, Any]:
    """Return case -> server -> {figures, range, ratio_to_apache}; without apache there are no ratios."""
    out: dict[str, Any] = {}
    for case, servers in samples.items():
        known = {name: summed([of_sample(s) for s in rows]) for name, rows in servers.items() if rows}
        base = known.get(BASE, {}).get("figures", {})
        out[case] = {
            name: {**one, "ratio_to_apache": ratios(one["figures"], base) if base else {}}
            for name, one in known.items()
        }
    return out


def model_half(samples: Mapping[str, Mapping[str, Mapping[str, Sequence[Figures]]]]) -> dict[str, Any]:
    """Return case -> server -> own or apache (half of whose full load) -> {figures, range}."""
    return {
        case: {name: {kind: summed(rows) for kind, rows in one.items()} for name, one in servers.items()}
        for case, servers in samples.items()
    }


def spread(one: Mapping[str, Any], name: str) -> float:
    """Return the range between the rounds as a share of the median."""
    low, high = one["range"][name]
    return float((high - low) / one["figures"][name]) if one["figures"][name] else 0.0


def show(results: Mapping[str, Any], console: Console) -> None:
    """Print all results, targets last."""
    table(results["cases"], console)
    half_table(results.get("half", {}), console)
    extras_table(results.get("extras", {}), console)


def table(cases: Mapping[str, Any], console: Console) -> None:
    """Return the figures at full load, in brackets the multiple of apache's."""
    grid = Table(
        title="Full load, one core for the server; in brackets: multiple of apache; ±: between the rounds"
    )
    for heading in (
        "case",
        "server",
        "requests per CPU second",
        "±",
        "requests/s",
        "p50 ms",
        "p99 ms",
        "peak MB",
        "worker MB",
    ):
        grid.add_column(heading, justify="left" if heading in ("case", "server") else "right")
    for case, servers in cases.items():
        for name, one in servers.items():
            per_cpu, *others = cells(one["figures"], one["ratio_to_apache"])
            grid.add_row(case, name, per_cpu, f"{spread(one, 'requests_per_cpu_second'):.0%}", *others)
        grid.add_section()
    console.print(grid)


def half_table(cases: Mapping[str, Any], console: Console) -> None:
    """Return latency at half load."""
    grid = Table(title="Half load")
    for heading in HALF_HEADS:
        grid.add_column(heading, justify="left" if heading in HALF_HEADS[:3] else "right")
    for case in cases:
        for row in half_rows({case: cases[case]}):
            grid.add_row(*row)
        grid.add_section()
    if cases:
        console.print(grid)


def half_rows(cases: Mapping[str, Any]) -> Iterator[list[str]]:
    """Return the cells below HALF_HEADS."""
    for case, servers in cases.items():
        for name, kinds in servers.items():
            for kind, one in kinds.items():
                figures = one["figures"]
                held = "" if figures["held"] >= HELD else f" ({figures['held']:.0%} held)"
                middle, late, later, worst = (
                    f"{figures[f'latency_{which}_ms']:.2f}" for which in ("p50", "p99", "p999", "worst")
                )
                whose, noise = (
                    "its own" if kind == "own" else "Apache's",
                    f"{spread(one, 'latency_p99_ms'):.0%}",
                )
                yield [
                    case,
                    name,
                    whose,
                    f"{figures['requests_per_second']:,.0f}{held}",
                    middle,
                    late,
                    noise,
                    later,
                    worst,
                ]


def extras_table(rows: Mapping[str, Mapping[str, float]], console: Console) -> None:
    """Return start-up and memory of idle connections, one row each."""
    grid = Table(title="Start, check, idle connections")
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    for heading in ("", *names):
        grid.add_column(heading, justify="right" if heading else "left")
    for title, row in rows.items():
        grid.add_row(title, *(short(row[name]) if name in row else "" for name in names))
    if rows:
        console.print(grid)


def conditions_table(found: Sequence[Condition], console: Console) -> None:
    """Return each target with its figure."""
    grid = Table("condition", "wanted", "found", "", title="What Whimbrel is measured by")
    for one in found:
        grid.add_row(one.name, one.wanted, one.found, f"[{COLOURS[one.met]}]{WORDS[one.met]}[/]")
    console.print(grid)


def short(value: float) -> str:
    """Return ``12,345`` or ``1.25``."""
    return f"{value:,.{0 if value >= 100 else 2}f}"


def cells(values: Figures, multiples: Figures) -> list[str]:
    """Return ``12,345 (2.10)`` for each figure."""
    return [
        short(v) + (f" ({multiples[name]:.2f})" if name in multiples else "") for name, v in values.items()
    ]
