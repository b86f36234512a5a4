"""HTML page of a report, self-contained."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from whimbrel.base.printable import html_line, html_text
from whimbrel.report import knowledge
from whimbrel.report.model import (
    Report,
    ReportEntry,
    count_noun,
    counts,
    new_lines,
    sorted_entries,
    title_of,
)
from whimbrel.upgrade.model import Risk

CLASSES: Final = {
    Risk.BREAKS: "breaks",
    Risk.OPENS: "opens",
    Risk.CLOSES: "closes",
    Risk.CHANGES: "changes",
    Risk.COSMETIC: "cosmetic",
}
STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
color: #1d2329; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; font-family: ui-monospace, monospace }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-top: 1px solid #d5dbe1 }
td.line, td.rule { white-space: nowrap; font-family: ui-monospace, monospace }
code, pre { font-family: ui-monospace, monospace; background: #f3f5f7 }
pre { margin: .2rem 0; padding: .2rem .4rem; overflow-x: auto } .risk { white-space: nowrap;
font-weight: 600 } .advice { color: #4a5560 }
.breaks, .opens { color: #a3141b } .closes { color: #a34a00 } .changes { color: #7a5c00 }
.cosmetic { color: #2b6580 }
@media (prefers-color-scheme: dark) { body { background: #14181c; color: #dfe5ea }
code, pre { background: #20262c } th, td { border-color: #38414a }
.advice { color: #a9b4be } .breaks, .opens { color: #ff8a8a } .closes { color: #ffb070 }
.changes { color: #e6c95c } .cosmetic { color: #86c5e0 } }
"""


def render(report: Report) -> str:
    """Return the counts, then a table for each file that has entries."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        "<title>whimbrel check</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        "<h1>From httpd 2.2 to 2.4</h1>",
        "<ul>",
        *(f"<li>{html_line(line.strip())}</li>" for line in (*report.inputs, *counts(report))),
        "</ul>",
    ]
    for path, group in groupby(sorted_entries(report.entries), key=lambda entry: entry.path):
        parts += _file(report, path, list(group))
    clean = len(set(report.files) - {entry.path for entry in report.entries})
    if clean:
        parts.append(f"<p>{count_noun(clean, 'file')} without any finding.</p>")
    parts += knowledge.html(report.scope, report.directory)
    return "\n".join([*parts, "</main>", "</body>", "</html>"]) + "\n"


def _file(report: Report, path: str, entries: list[ReportEntry]) -> Iterator[str]:
    yield f"<h2>{html_line(path)}</h2>"
    yield "<table>"
    columns = "".join(f'<th scope="col">{name}</th>' for name in ("Line", "Row", "Risk", "What"))
    yield f"<thead><tr>{columns}</tr></thead><tbody>"
    for entry in entries:
        yield "".join(_row(report, entry))
    yield "</tbody></table>"


def _row(report: Report, entry: ReportEntry) -> Iterator[str]:
    title = html_line(title_of(report, entry.rule))
    yield f'<tr><td class="line">{entry.line or ""}</td>'
    yield f'<td class="rule" title="{title}">{html_line(entry.rule)}</td>'
    marks = f"<br>{entry.mark}" if entry.mark else ""
    yield f'<td class="risk {CLASSES[entry.risk]}">{entry.risk.value}{marks}</td>'
    yield f"<td>{html_line(entry.message)}"
    yield f'<div class="advice">{html_line(entry.advice)}</div>' if entry.advice else ""
    yield f'<div class="advice">decide: {html_line(entry.decision)}</div>' if entry.decision else ""
    yield f"<pre>{html_text(entry.text)}</pre>" if entry.text else ""
    yield f"<pre>{html_text(chr(10).join(new_lines(entry)))}</pre>" if entry.new else ""
    yield f"<pre>{html_text(entry.evidence)}</pre>" if entry.evidence else ""
    yield "</td></tr>"
