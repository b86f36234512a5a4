"""docs/performance.md and its plots, from the results of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bench.documents import CASES, TO_COME

COLOURS = {"whimbrel": "#8c5a2b", "apache": "#b0303a", "nginx": "#2f7d4f", "granian": "#4a6fa5"}
WIDTH, BAR, GAP, LEFT = 760, 16, 14, 130

INTRODUCTION = """# Performance

Written by `make bench BENCH="--docs docs"`; the figures are those of one run on one machine, and mean something as ratios only.
One core answers ({seconds} s a measurement, medians of {rounds} rounds, all servers in turn), another one asks. Requests per CPU second count
the CPU time of all processes of a server, user and system; memory is the largest proportional set size seen.

"""


def write_page(folder: Path, results: Mapping[str, Any]) -> None:
    """Write performance.md and the plots beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = results["cases"]
    text = INTRODUCTION.format(**results)
    text += "".join(f"* {name}: {line}\n" for name, line in results["servers"].items())
    text += "\n![Requests per CPU second as multiples of Apache](performance-ratios.svg)\n\n"
    text += _cases(cases) + _extras(results.get("extras", {}))
    text += "\nRows that come with their modules: " + ", ".join(TO_COME) + ".\n"
    (folder / "performance-ratios.svg").write_text(plot({name: _ratios(row) for name, row in cases.items()}))
    (folder / "performance.md").write_text(text)


def _ratios(row: Mapping[str, Any]) -> dict[str, float]:
    return {name: one["ratio_to_apache"].get("requests_per_cpu_second", 0.0) for name, one in row.items()}


def _cases(cases: Mapping[str, Any]) -> str:
    order = [c.name for c in CASES if c.name in cases]
    lines = ["| case | server | requests per CPU second | of Apache | p99 ms | memory MB |", "|---|---|---:|---:|---:|---:|"]
    for name in order:
        for server, one in cases[name].items():
            f, ratio = one["figures"], one["ratio_to_apache"].get("requests_per_cpu_second")
            shown = f"{ratio:.2f}" if ratio is not None else ""
            row = (name, server, f"{f['requests_per_cpu_second']:,.0f}", shown, f"{f['latency_p99_ms']:.2f}", f"{f['peak_memory_mb']:.1f}")
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _extras(rows: Mapping[str, Mapping[str, float]]) -> str:
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = ["", "| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    lines += ["| " + " | ".join([title, *(f"{row[n]:,.2f}" if n in row else "" for n in names)]) + " |" for title, row in rows.items()]
    return "\n".join(lines) + "\n"


def plot(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Bars of each case, one for each server, as an SVG; Apache is 1 and has a line of its own."""
    largest = min(20.0, max((value for row in rows.values() for value in row.values()), default=1.0))
    scale = (WIDTH - LEFT - 70) / max(largest, 1.0)
    shapes: list[str] = []
    y = GAP
    for case, row in rows.items():
        shapes.append(f'<text x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{escape(case)}</text>')
        y = _bars(shapes, row, y, scale) + GAP
    base = LEFT + scale
    line = f'<line x1="{base:.1f}" y1="0" x2="{base:.1f}" y2="{y}" stroke="#999" stroke-dasharray="3 3"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="11">'
    return "\n".join([head, line, *shapes, "</svg>"]) + "\n"


def _bars(shapes: list[str], row: Mapping[str, float], y: int, scale: float) -> int:
    for server, value in row.items():
        width = max(1.0, min(value, 20.0) * scale)
        shapes.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 3}" fill="{COLOURS.get(server, "#777")}"/>')
        shapes.append(f'<text x="{LEFT + width + 4:.1f}" y="{y + BAR - 5}">{escape(server)} {value:.2f}</text>')
        y += BAR
    return y
