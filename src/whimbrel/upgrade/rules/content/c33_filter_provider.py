"""C33: FilterProvider takes an expression.  Document: documents/C33-filter-provider.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.syntax.words import quoted
from whimbrel.upgrade.edits.helpers import change_args, is_quotable
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

SAFE_NAME: Final = re.compile(r"[\w-]+\Z", re.ASCII)
NUMBERS: Final = (("<=", "-le"), (">=", "-ge"), ("<", "-lt"), (">", "-gt"), ("=", "-eq"))
_DELIMITERS: Final = "#|!,"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every line with the four arguments of 2.2: filter, provider, variable, pattern."""
    for line in tree.named("filterprovider"):
        words = line.words()
        if len(words) != 4:
            continue
        condition = expression(words[2], words[3])
        message = f"FilterProvider takes an expression: 2.4 {line.file.refusal} with a condition of 2.2"
        if condition is None or not is_quotable(condition):
            advice = f"write an expression that is true where {words[3]} matched {words[2]}"
            yield Finding("C33", line.place, message, advice, Risk.BREAKS)
        else:
            args = " ".join((quoted(words[0]), quoted(words[1]), '"' + quoted(condition).strip('"') + '"'))
            yield Finding(
                "C33",
                line.place,
                message,
                f"the expression is true where {words[3]} matched {words[2]}",
                Risk.BREAKS,
                Safety.SAFE,
                change_args(tree, line, args),
            )


def expression(what: str, match: str) -> str | None:
    """Return the condition of 2.2 as an expression, None if it has no equivalent.

    2.2 ignores case; a missing value matches nothing, hence everything that begins with ``!``.
    """
    variable = _variable(what)
    negated = match.startswith("!")
    test = _comparison(variable, match[negated:]) if variable else None
    if test is None:
        return None
    return f"!({test})" if negated else test


def _variable(what: str) -> str:
    """Return the variable of 2.4 with the value that 2.2 tested, "" if there is none."""
    kind, equals, name = what.partition("=")
    if what.lower().startswith("handler"):
        return "%{HANDLER}"
    if not equals:
        kind = "resp"
        name = what
    if not SAFE_NAME.match(name):
        return ""
    if kind.lower() == "resp" and name.lower() == "content-type":
        return "%{CONTENT_TYPE}"
    return {"resp": f"%{{resp:{name}}}", "req": f"%{{req:{name}}}", "env": f"%{{env:{name}}}"}.get(
        kind.lower(), ""
    )


def _comparison(variable: str, match: str) -> str | None:
    for sign, operator in NUMBERS:
        if match.startswith(sign):
            number = re.match(r"\s*[+-]?\d+", match[len(sign) :])
            return f"-n {variable} && {variable} {operator} {int(number[0]) if number else 0}"
    if match.startswith("*"):
        return f"-n {variable}"
    if match.startswith("/"):
        body, _, flags = match[1:].rpartition("/")
        return _regex(variable, body, "i" if "i" in flags else "") if body else None
    if match.startswith("$"):
        return _regex(variable, _literal(match[1:]), "i") if match[1:] else None
    return _regex(variable, f"^{_literal(match)}$", "i") if match else None


def _regex(variable: str, pattern: str, flags: str) -> str | None:
    delimiter = next((c for c in _DELIMITERS if c not in pattern), None)
    return f"{variable} =~ m{delimiter}{pattern}{delimiter}{flags}" if delimiter is not None else None


def _literal(text: str) -> str:
    """Return a pattern for the literal *text* without backslashes, which would have to be doubled."""
    in_class = {char: f"[{char}]" for char in ".+*?()[]{}|$"}
    escaped = {char: f"\\{char}" for char in "^\\"}
    return "".join((in_class | escaped).get(char, char) for char in text)


RULE = Rule("C33", "filter-provider", "FilterProvider takes an expression", check)
