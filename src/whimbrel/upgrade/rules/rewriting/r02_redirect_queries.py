"""R02: the query of a redirect is not escaped again.  Document: documents/R02-redirect-queries.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Risk, Rule
from whimbrel.upgrade.rules.rewriting.lines import MARK, RewriteLine, rules


def check(estate: Estate) -> Iterator[Finding]:
    """The first redirect of each file that hands the query on; the message counts them."""
    found: dict[str, list[RewriteLine]] = {}
    for rule in rules(estate):
        if rule.substitutes and rule.redirects and not rule.has("ne", "noescape") and _hands_on(rule):
            found.setdefault(rule.line.file.path, []).append(rule)
    for lines in found.values():
        more = f" ({len(lines)} rules in this file)" if len(lines) > 1 else ""
        yield Finding(
            "R02", lines[0].line.place, f"2.2 escaped the query of a redirect once more (%20 became %2520), 2.4 hands it on as it is{more}",
            "nothing, unless a target undoes the second escaping", Risk.CHANGES)


def _hands_on(rule: RewriteLine) -> bool:
    """Whether the client's query, which is escaped already, goes into the new URL."""
    text = "".join(piece.text for piece in rule.pieces if piece.kind == "text")
    if MARK not in text or rule.has("qsa", "qsappend"):
        return True
    variables = any(piece.kind == "%{" and piece.text in ("query_string", "the_request") for piece in rule.pieces)
    matched = any(piece.kind == "%" for piece in rule.pieces)
    return variables or (matched and any("%{query_string}" in c.first.lower() or "%{the_request}" in c.first.lower() for c in rule.conditions))


RULE = Rule("R02", "redirect-queries", "The query of a redirect is not escaped again", check)
