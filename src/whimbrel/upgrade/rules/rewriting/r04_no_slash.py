"""R04: rewritten paths without a leading slash are served. Document: documents/R04-no-slash.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.rewriting.lines import RewriteLine, rewrite_rules
from whimbrel.upgrade.rules.rewriting.patterns import group_text
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import has_server_context

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield rules of a server whose new path may begin without a slash."""
    for rule in rewrite_rules(tree):
        if (
            rule.substitutes
            and has_server_context(rule.line)
            and not rule.redirects
            and not rule.has("p", "proxy")
            and _may_lack(rule)
        ):
            yield Finding(
                "R04",
                rule.line.place,
                (
                    "2.2 answered 400 if the new path began without a slash, 2.4 maps it below the "
                    "document root"
                ),
                (
                    "do nothing, unless the refusal is wanted: then give the map a default value and "
                    "refuse that"
                ),
                Risk.CHANGES,
            )


def _may_lack(rule: RewriteLine) -> bool:
    first = rule.pieces[0]
    if first.kind == "text":
        return first.text[:1] != "/" and not _SCHEME.match(first.text)
    return first.kind == "${" or (
        first.kind == "$" and not _begins_with_slash(rule.parts.first, int(first.text))
    )


def _begins_with_slash(pattern: str, number: int) -> bool:
    """Return True if the group begins at the start of the URL's path, or with a slash."""
    if (group_text(pattern, number) or "").startswith("/"):
        return True
    return (
        number < 2
        and pattern.startswith(("^(", "(.*") if number else ("^", ".*"))
        and not pattern.startswith("^(?")
    )


RULE = Rule("R04", "no-slash", "Rewritten paths without a slash at the beginning are served", check)
