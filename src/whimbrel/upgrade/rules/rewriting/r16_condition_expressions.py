"""R16: RewriteCond expr is an expression of 2.4.  Document: documents/R16-condition-expressions.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.modules.mappers.mod_rewrite.args import split_flags, split_line
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

_OPERATORS: Final = frozenset("<>=-")
_WITHOUT_CASE: Final = frozenset(("nc", "nocase"))


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the conditions whose test string is the word `expr`, for 2.2 a text as any other."""
    for line in tree.named("rewritecond"):
        parts = split_line(line.args)
        if parts is None or parts.first.lower() != "expr":
            continue
        flags = {name.lower() for name, _ in split_flags(parts.flags) or ()}
        holds = _holds(parts.first, parts.second, ignore_case=not flags.isdisjoint(_WITHOUT_CASE))
        always = {None: "", True: ", which always holds", False: ", which never holds"}[holds]
        yield Finding(
            "R16",
            line.place,
            f'2.2 compares the text "{parts.first}" with this pattern{always}; 2.4 evaluates an expression',
            "keep the line if the expression is meant, or remove it with what it never or always permits",
            Risk.CHANGES,
        )


def _holds(text: str, pattern: str, *, ignore_case: bool) -> bool | None:
    """Return the result of the condition under 2.2, None if it is no comparison with an expression."""
    wanted = pattern.removeprefix("!")
    if wanted[:1] in _OPERATORS:
        return None
    try:
        found = compile_regex(wanted, ignore_case=ignore_case).search(text) is not None
    except RegexError:
        return None
    return found is (wanted == pattern)


RULE = Rule("R16", "condition-expressions", "RewriteCond expr is an expression of 2.4", check)
