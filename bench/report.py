"""Samples as figures: medians over the rounds, ratios to apache, a table and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.load import Sample

Samples = Mapping[str, Mapping[str, Sequence[Sample]]]
Figures = dict[str, float]
BASE = "apache"


def figures(samples: Sequence[Sample]) -> Figures:
    """The medians of all rounds; memory is the largest of all."""
    return {
        "requests_per_cpu_second": median(s.per_cpu_second for s in samples),
        "requests_per_second": median(s.requests / s.seconds for s in samples),
        "latency_p50_ms": median(s.p50 for s in samples),
        "latency_p99_ms": median(s.p99 for s in samples),
        "peak_memory_mb": max(s.memory for s in samples) / 1e6,
    }


def ratios(mine: Figures, base: Figures) -> Figures:
    """Every figure as a multiple of the base server's."""
    return {name: value / base[name] for name, value in mine.items() if base[name]}


def model(samples: Samples) -> dict[str, dict[str, dict[str, Figures]]]:
    """case -> server -> {figures, ratios to apache}; without apache in the run there are no ratios."""
    out: dict[str, dict[str, dict[str, Figures]]] = {}
    for case, servers in samples.items():
        known = {name: figures(rows) for name, rows in servers.items() if rows}
        out[case] = {name: {"figures": f, "ratio_to_apache": ratios(f, known[BASE]) if BASE in known else {}} for name, f in known.items()}
    return out


def table(results: Mapping[str, Mapping[str, Mapping[str, Figures]]], console: Console) -> None:
    """The figures as a table; in brackets the multiple of apache's."""
    grid = Table(title="One core for the server; in brackets: as a multiple of apache")
    for heading in ("case", "server", "requests per CPU second", "requests/s", "p50 ms", "p99 ms", "peak MB"):
        grid.add_column(heading, justify="left" if heading in ("case", "server") else "right")
    for case, servers in results.items():
        for name, result in servers.items():
            grid.add_row(case, name, *cells(result["figures"], result["ratio_to_apache"]))
        grid.add_section()
    console.print(grid)


def extras_table(rows: Mapping[str, Mapping[str, float]], console: Console) -> None:
    """Start-up, memory of idle connections: one row each."""
    grid = Table(title="Start, check, idle connections")
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    for heading in ("", *names):
        grid.add_column(heading, justify="right" if heading else "left")
    for title, row in rows.items():
        grid.add_row(title, *(f"{row[name]:,.2f}" if name in row else "" for name in names))
    if rows:
        console.print(grid)


def cells(values: Figures, multiples: Figures) -> list[str]:
    """``12,345 (2.10)`` for each figure."""
    return [f"{v:,.{0 if v >= 100 else 2}f}" + (f" ({multiples[name]:.2f})" if name in multiples else "") for name, v in values.items()]
