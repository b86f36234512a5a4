"""The variables of the environment that the lines of a configuration set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.verify.config_lines import SideLines, lines_of

_SETTERS: Final = {
    "setenvif": 2,
    "setenvifnocase": 2,
    "setenvifexpr": 1,
    "browsermatch": 1,
    "browsermatchnocase": 1,
    "setenv": 0,
    "passenv": 0,
}
"""Directives that set variables, and the position of the first one."""


def settable_variables(sides: Iterable[SideLines]) -> frozenset[str]:
    """Return the variables of the environment that lines set, in lower case."""
    found: set[str] = set()
    for lines in sides:
        for line in lines_of(lines.scopes):
            words = line.words() if line.name in _SETTERS or line.name == "rewriterule" else []
            if line.name == "rewriterule":
                words = [flag[2:] for flag in words[-1].strip("[]").split(",") if flag[:2].lower() == "e="]
                found.update(word.partition(":")[0].lstrip("!").lower() for word in words)
            else:
                found.update(
                    word.partition("=")[0].lstrip("!").lower() for word in words[_SETTERS.get(line.name, 0) :]
                )
    return frozenset(found)
