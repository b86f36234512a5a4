"""SVG of bars by case, one for each server."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

COLOURS = {"whimbrel": "#8c5a2b", "apache": "#b0303a", "nginx": "#2f7d4f", "granian": "#4a6fa5"}
WIDTH, BAR, GAP, LEFT = 760, 16, 14, 130


def plot(rows: Mapping[str, Mapping[str, float]], line: float | None = 1.0, most: float = 20.0) -> str:
    """Return the SVG of case -> server -> length.

    Bars longer than *most* are cut. A dashed line stands at *line*.
    """
    largest = min(most, max((value for row in rows.values() for value in row.values()), default=1.0))
    scale = (WIDTH - LEFT - 100) / (max(largest, line or 0.0) or 1.0)
    shapes: list[str] = []
    y = GAP
    for case, row in rows.items():
        shapes.append(f'<text x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{escape(case)}</text>')
        y = _bars(shapes, row, y, scale, most) + GAP
    if line is not None:
        base = LEFT + line * scale
        shapes.insert(
            0, f'<line x1="{base:.1f}" y1="0" x2="{base:.1f}" y2="{y}" stroke="#999" stroke-dasharray="3 3"/>'
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" '
        'font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, *shapes, "</svg>"]) + "\n"


def _bars(shapes: list[str], row: Mapping[str, float], y: int, scale: float, most: float) -> int:
    for server, value in row.items():
        width = max(1.0, min(value, most) * scale)
        shapes.append(
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 3}" '
            f'fill="{COLOURS.get(server, "#777")}"/>'
        )
        shapes.append(
            f'<text x="{LEFT + width + 4:.1f}" y="{y + BAR - 5}">{escape(server)} {value:.2f}</text>'
        )
        y += BAR
    return y
