"""R02: the query of a redirect is not escaped again.  Document: documents/R02-redirect-queries.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.modules.mappers.mod_rewrite.args import Line, split_flags
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.rewriting.lines import MARK, RewriteLine, rewrite_rules
from whimbrel.upgrade.rules.rewriting.patterns import can_match, group_text
from whimbrel.upgrade.source.config_tree import ConfigTree

_ESCAPED: Final = '%"<>[\\]^`{|}\x7f\xe9'
"""Characters of a query that 2.2 escapes, one of each kind that a client can send."""
_EMPTY: Final = ("!.", "!.+", '=""')
"""Other patterns for an empty query."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first redirect of each file that copies the query; the message counts them."""
    by_file: dict[str, list[RewriteLine]] = {}
    for rule in rewrite_rules(tree):
        if rule.substitutes and rule.redirects and not rule.has("ne", "noescape") and _hands_on(rule):
            by_file.setdefault(rule.line.file.path, []).append(rule)
    for lines in by_file.values():
        more = f" ({len(lines)} rules in this file)" if len(lines) > 1 else ""
        yield Finding(
            "R02",
            lines[0].line.place,
            (
                "2.2 escaped the query of a redirect once more (%20 became %2520), 2.4 copies it "
                f"unchanged{more}"
            ),
            "do nothing, unless a target undoes the second escaping",
            Risk.COSMETIC,
        )


def _hands_on(rule: RewriteLine) -> bool:
    """Return True if the client's query, which is escaped already, is copied into the new URL."""
    if any(_is_plain(condition) for condition in rule.conditions):
        return False
    text = "".join(piece.text for piece in rule.pieces if piece.kind == "text")
    if MARK not in text or rule.has("qsa", "qsappend"):
        return True
    variables = any(
        piece.kind == "%{" and piece.text in ("query_string", "the_request") for piece in rule.pieces
    )
    matched = any(piece.kind == "%" for piece in rule.pieces)
    return variables or (
        matched
        and any(
            "%{query_string}" in c.first.lower() or "%{the_request}" in c.first.lower()
            for c in rule.conditions
        )
    )


def _is_plain(condition: Line) -> bool:
    """Return True if the rule runs only for queries without escapes, such as the empty one."""
    pattern = condition.second
    if condition.first.lower() != "%{query_string}" or any(
        name.lower() in ("or", "ornext") for name, _ in split_flags(condition.flags) or ()
    ):
        return False
    anchored = pattern[:1] == "^" and pattern[-1:] == "$" and pattern[-2:-1] != "\\" and "|" not in pattern
    return pattern in _EMPTY or (
        anchored and not any(can_match(group_text(pattern, 0), char) for char in _ESCAPED)
    )


RULE = Rule("R02", "redirect-queries", "The query of a redirect is not escaped again", check)
