"""Comparison of two runs: changes beyond the noise, which is the range between the rounds of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

# Figures that are compared, and whether more is better.
COMPARED = {
    "requests_per_cpu_second": True,
    "peak_memory_mb": False,
    "worker_memory_mb": False,
    "latency_p99_ms": False,
}
SMALLEST = 0.02  # share of the old figure below which a change is noise


@dataclass(frozen=True)
class Change:
    """Figure whose rounds do not overlap those of the other run."""

    where: str
    figure: str
    old: float
    new: float
    better: bool


def rows(results: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every measured row: name, and figures with their ranges.

    At full load latency only repeats throughput.
    """
    for case, servers in results["cases"].items():
        for name, one in servers.items():
            yield f"{case}, {name}", {k: v for k, v in _ranges(one).items() if k != "latency_p99_ms"}
    for case, servers in results.get("half", {}).items():
        for name, kinds in servers.items():
            for kind, one in kinds.items():
                whose = "its own" if kind == "own" else f"{kind}'s"
                how = results.get("pace", "in bursts")  # rates that were sent in another way are not compared
                yield (
                    f"{case}, {name} at half of {whose} load, {how}",
                    {"latency_p99_ms": _ranges(one)["latency_p99_ms"]},
                )


def _ranges(one: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Return figure -> median, smallest, largest; a file without ranges has the figure three times."""
    return {
        name: (value, *one.get("range", {}).get(name, (value, value)))
        for name, value in one["figures"].items()
    }


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return the figures of both runs whose rounds do not overlap, if they differ by enough."""
    before, out = dict(rows(old)), []
    for where, figures in rows(new):
        for figure, more in COMPARED.items():
            if figure in figures and figure in before.get(where, {}):
                (was, was_low, was_high), (now, low, high) = before[where][figure], figures[figure]
                if (low > was_high or high < was_low) and abs(now - was) >= SMALLEST * was:
                    out.append(Change(where, figure, was, now, (now > was) == more))
    return out


def changes_table(found: list[Change], console: Console) -> None:
    """Return one line for each change, or one line if there is none."""
    if not found:
        console.print("Nothing changed beyond the noise.")
        return
    grid = Table("", "figure", "old", "new", "", "", title="Changes beyond the noise")
    for one in found:
        word = "[green]better[/]" if one.better else "[red]worse[/]"
        grid.add_row(
            one.where,
            one.figure,
            f"{one.old:,.2f}",
            f"{one.new:,.2f}",
            f"{one.new / one.old - 1:+.0%}" if one.old else "",
            word,
        )
    console.print(grid)
