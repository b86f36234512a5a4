"""A page for each rule of the upgrade, from its document, its examples and the findings that these give."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.unit.upgrade.examples import FENCE, read_document, upgraded
from tools.documentation.documents import ROOT, RULES, places
from tools.documentation.markdown import converted, fenced, table

from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules import all_rules

KINDS: Final = {
    "C": "a row of the table of changes: what httpd's upgrade guide says",
    "R": "a row beyond the table of changes, found by comparing both versions",
    "X": "a row of the table of changes beyond the guide: recorded on real servers or reported",
}
"""The first letter of a number -> where the row comes from."""
TITLES: Final = {"before": "2.2", "after": "2.4"}


def rule_pages() -> Iterator[tuple[str, str]]:
    """Yield page and text of each rule, and the list of all."""
    rows = []
    where = places()
    for rule in sorted(all_rules(), key=lambda one: one.number):
        source = f"{RULES}/{rule.number}-{rule.name}.md"
        findings = list(_findings(rule, ROOT / source))
        risks = _risks(findings)
        facts = table(
            ("fact", "value"),
            (
                ("Number", f"{rule.number}, {KINDS[rule.number[0]]}"),
                ("Name", f"`{rule.name}`"),
                *((("Also covers", ", ".join(rule.also)),) if rule.also else ()),
                ("Risk of what it finds", risks),
                ("What `upgrade` does", _safety(findings)),
                ("In the terminal", f"`whimbrel explain {rule.number}`"),
            ),
        )
        heading, _, rest = (ROOT / source).read_text(encoding="utf-8").partition("\n")
        text = "\n".join((heading, "", facts, _titled(rest)))
        page = f"rules/{rule.number.lower()}.md"
        yield page, converted(text, where.links(source)) + "\n[All rules](index.md)\n"
        rows.append((f"[{rule.number}]({page.partition('/')[2]})", rule.title, risks))
    yield "rules/index.md", _index(rows)


def _index(rows: list[tuple[str, str, str]]) -> str:
    text = (
        "# Rules\n\nEach rule finds one change from 2.2 to 2.4 in a configuration. `whimbrel check` reports "
        "it, `whimbrel upgrade` rewrites the text where that is safe, and `whimbrel explain NUMBER` prints "
        "the page of the rule. `--select` and `--ignore` take numbers.\n\n"
    )
    return converted(text + table(("number", "change", "risk"), rows))


def _findings(rule: Rule, document: Path) -> Iterator[Finding]:
    """Yield what the rule finds in the examples of its document."""
    for example in read_document(document).examples:
        with tempfile.TemporaryDirectory() as directory:
            result = upgraded(example, rule, Path(directory).resolve())
        yield from (one for one in result.findings if one.rule in (rule.number, *rule.also))


def _risks(findings: list[Finding]) -> str:
    found = {finding.risk for finding in findings}
    return ", ".join(risk.value for risk in Risk if risk in found)


def _safety(findings: list[Finding]) -> str:
    words = {
        Safety.SAFE: "rewrites the text, with the same answers",
        Safety.REVIEW: "rewrites the text and marks it `needs review`",
        Safety.MANUAL: "reports it and leaves the text alone",
    }
    found = {finding.safety for finding in findings}
    return ", or ".join(words[safety] for safety in Safety if safety in found)


def _titled(text: str) -> str:
    """Return the text of a document with titles in the place of the words behind its blocks."""
    lines = []
    block: list[str] | None = None
    kind = words = ""
    for line in text.splitlines():
        fence = FENCE.match(line)
        if block is None and fence is not None:
            kind, words, block = fence[1], fence[2], []
        elif block is not None and line == "```":
            lines += _block(kind, words.split(), "\n".join(block))
            block = None
        elif block is not None:
            block.append(line)
        else:
            lines.append(line)
    return "\n".join(lines)


def _block(kind: str, words: list[str], body: str) -> list[str]:
    """Return the lines of one block of an example."""
    if kind == "findings":
        return ["", "Findings: " + ", ".join(f"`{line}`" for line in body.splitlines()) + "."]
    if kind == "options":
        return ["", "With: " + ", ".join(f"`{line}`" for line in body.splitlines()) + "."]
    if not words:
        return fenced(body, kind).splitlines()
    if words[0] == "unchanged":
        return ["", f"`{words[1]}` stays as it is." if len(words) > 1 else "The text stays as it is."]
    path = f", {words[1]}" if len(words) > 1 else ""
    return fenced(body, kind, f"{TITLES[words[0]]}{path}").splitlines()
