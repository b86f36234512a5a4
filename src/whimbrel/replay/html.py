"""The report of a replay as one plain HTML page without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.printable import html_line
from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import Change, ChangeKey
from whimbrel.replay.text import names_of, place
from whimbrel.report import knowledge

STYLE: Final = (
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left}"
    "code{background:#f3f3f3}h2{margin-top:2em}"
)


def html_of(summary: Summary) -> str:
    """Return the page."""
    body = "\n".join(_body(summary))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Replay</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(summary: Summary) -> Iterator[str]:
    tally = summary.tally
    yield "<h1>Replay</h1>"
    yield from _table(
        (
            ("old", summary.old),
            ("new", summary.new),
            ("logs", ", ".join(summary.logs)),
            ("lines", str(tally.lines)),
            ("requests", str(tally.requests)),
            ("requests that change", str(tally.changed)),
            ("lines of another format", str(tally.malformed)),
            ("lines that are too long", str(tally.huge)),
            ("lines without a request", str(tally.without_request)),
        )
    )
    for error in summary.errors:
        yield f"<p><strong>{html_line(error)}</strong></p>"
    if tally.malformed_examples:
        yield "<h2>Lines that were not replayed</h2>"
        yield from _list(tally.malformed_examples)
    yield from knowledge.html(summary.scope)
    for key, change in summary.changes:
        yield from _change(key, change)
    yield "<h2>Logged and now</h2>"
    yield f"<p>{summary.as_logged} requests have the status that was logged.</p>"
    rows = [
        (str(logged), str(now), str(number), tally.status_examples.get((logged, now), ""))
        for (logged, now), number in summary.statuses
    ]
    if rows:
        yield from _table((("logged", "now", "requests", "example"), *rows))


def _change(key: ChangeKey, change: Change) -> Iterator[str]:
    yield f"<h2>{change.requests} requests: {html_line(key.what)}</h2>"
    rows = [("old line", place(line)) for line in key.old]
    rows += [("new line", place(line)) for line in key.new]
    for what, names in (
        ("clients", change.clients),
        ("users", change.users),
        ("hosts", change.hosts),
        ("paths", change.paths),
    ):
        if names:
            rows.append((what, names_of(names)))
    yield from _table(rows)
    yield from _list(change.examples)


def _table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "<table>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{html_line(cell)}</td>" for cell in row) + "</tr>"
    yield "</table>"


def _list(texts: list[str]) -> Iterator[str]:
    yield "<ul>"
    for text in texts:
        yield f"<li><code>{html_line(text)}</code></li>"
    yield "</ul>"
