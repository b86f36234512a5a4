"""HTML page of a verification, self-contained and without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whimbrel.base.printable import html_line, html_text
from whimbrel.report import knowledge
from whimbrel.report.formats.html import CLASSES, STYLE
from whimbrel.report.model import count_noun
from whimbrel.report.verification.entries import KINDS, names_of, risk_of, summary
from whimbrel.verify.answer import DecidingLine
from whimbrel.verify.verification import DifferenceGroup, VerifyResult


def render(verification: VerifyResult) -> str:
    """Return the verdict, then a section for each cause."""
    old, new = verification.names
    first, *rest = summary(verification)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>whimbrel verify: {html_line(first)}</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body><main>",
        f"<h1>{html_line(first)}</h1>",
        "<ul>",
        *(f"<li>{html_line(line)}</li>" for line in rest),
        "</ul>",
    ]
    for name, errors in zip(verification.names, verification.errors, strict=True):
        heading = f"<h2>{html_line(name)} does not load</h2>"
        parts += [f"{heading}<pre>{html_text(one.text)}</pre>" for one in errors]
    for number, group in enumerate(verification.groups, 1):
        parts += _group(number, group, old, new)
    if verification.not_decided:
        parts.append("<h2>Not decided</h2><ul>")
        for one in verification.not_decided:
            where = f" <code>{html_line(str(one.probe))}</code>" if one.probe is not None else ""
            parts.append(f"<li>{html_line(one.reason)}{where}</li>")
        parts.append("</ul>")
    parts += knowledge.html(verification.scope)
    return "\n".join([*parts, "</main></body></html>"]) + "\n"


def _group(number: int, group: DifferenceGroup, old: str, new: str) -> Iterator[str]:
    risk = risk_of(group)
    kind = KINDS[group.kind].capitalize()
    old, new = names_of(group, (old, new))
    yield f'<h2>{number}. {kind}: <span class="risk {CLASSES[risk]}">{risk.value}</span></h2>'
    yield f"<p>{count_noun(group.count, 'difference')}</p>"
    names = "".join(f"<th>{html_line(name)}</th>" for name in ("Request", "Part", old, new))
    yield f"<table><thead><tr>{names}</tr></thead>"
    yield "<tbody>"
    for example in group.examples:
        for part in example.difference.parts:
            cells = (str(example.probe), part.name, part.old or "none", part.new or "none")
            yield "<tr>" + "".join(f"<td>{html_line(cell)}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table>"
    for name, lines in ((old, group.cause.old), (new, group.cause.new)):
        yield from _lines(name, lines)


def _lines(name: str, lines: Iterable[DecidingLine]) -> Iterator[str]:
    text = "\n".join(str(line) for line in lines)
    if text:
        yield f"<p>{html_line(name)}</p><pre>{html_text(text)}</pre>"
