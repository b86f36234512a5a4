"""The page of a nightly run: a row for each part, as text, Markdown or HTML."""

from __future__ import annotations

import html
import shlex
from dataclasses import dataclass

FIGURES = 400  # characters that are shown
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.3rem .6rem;text-align:left;"
    "vertical-align:top}.green{background:#d8f0d8}.red{background:#f6d0d0}.skipped{background:#eee}"
    "code{overflow-wrap:anywhere}"
)


@dataclass(frozen=True)
class Row:
    """Result of one part.

    Attributes:
        verdict: green, red or skipped.
        figures: the last line of its output, or why it was skipped.
        command: repeats it.
    """

    name: str
    verdict: str
    seconds: float
    seed: int
    figures: str
    command: tuple[str, ...]

    @property
    def shown_command(self) -> str:
        """The command for a shell."""
        return shlex.join(self.command) if self.command else "-"

    @property
    def shown_figures(self) -> str:
        """The figures, shortened."""
        return self.figures if len(self.figures) <= FIGURES else self.figures[: FIGURES - 4] + " ..."


@dataclass(frozen=True)
class Page:
    """All rows of a run, with its date, commit and seed."""

    date: str
    commit: str
    seed: int
    minutes: float
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """The first line."""
        red = sum(row.verdict == "red" for row in self.rows)
        result = f"{red} red" if red else "all green"
        return f"Nightly run of {self.date}, commit {self.commit}: {result}"

    @property
    def summary(self) -> str:
        """The time and the seed."""
        spent = sum(row.seconds for row in self.rows) / 60
        return f"{spent:.1f} of {self.minutes:g} minutes, seed {self.seed}"

    def text(self) -> str:
        """Return the page for a terminal."""
        lines = [self.title, self.summary, ""]
        for row in self.rows:
            lines.append(f"{row.name:14} {row.verdict:8} {row.seconds:6.0f} s  seed {row.seed}")
            lines.append(f"    {row.shown_figures}")
            lines.append(f"    {row.shown_command}")
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """Return the page in Markdown."""
        lines = [
            f"# {self.title}",
            "",
            self.summary,
            "",
            "| part | result | seconds | seed | figures | command |",
            "|---|---|---:|---:|---|---|",
        ]
        for row in self.rows:
            figures = row.shown_figures.replace("|", "\\|")
            lines.append(
                f"| {row.name} | {row.verdict} | {row.seconds:.0f} | {row.seed} | {figures} "
                f"| `{row.shown_command}` |"
            )
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return the page in HTML, complete in itself."""
        cells = "".join(
            f'<tr class="{row.verdict}"><th scope="row">{html.escape(row.name)}</th><td>{row.verdict}</td>'
            f"<td>{row.seconds:.0f}</td><td>{row.seed}</td><td>{html.escape(row.shown_figures)}</td>"
            f"<td><code>{html.escape(row.shown_command)}</code></td></tr>\n"
            for row in self.rows
        )
        heads = "".join(
            f'<th scope="col">{name}</th>'
            for name in ("Part", "Result", "Seconds", "Seed", "Figures", "Command")
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(self.title)}</title><style>{STYLE}</style></head><body>\n"
            f"<h1>{html.escape(self.title)}</h1>\n<p>{html.escape(self.summary)}</p>\n"
            f"<table>\n<tr>{heads}</tr>\n{cells}</table>\n</body></html>\n"
        )
