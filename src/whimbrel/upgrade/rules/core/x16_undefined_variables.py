"""X16: ${APACHE_LOCK_DIR} and other variables that are not set.

Document: documents/X16-undefined-variables.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, InputContext, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

STOPS: Final = frozenset({"mutex", "user", "group", "listen", "documentroot", "keepalive", "loglevel"})
"""Directives that stop the start of 2.4 if they contain the name of a variable instead of its value."""
NAME: Final = re.compile(r"(?<!\\)\$\{(\w+)\}")


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first use of each variable that is not set, if others are set: then the environment
    is known."""
    seen: set[str] = set()
    defined = {line.words()[0] for line in tree.named("define", include_inactive=True) if line.words()}
    environment = _environment(tree)
    if (not defined and not environment) or tree.context is not InputContext.SERVER:
        yield from _mutexes(tree)
        return
    for line in tree.all_statements():
        if "${" not in line.args or line.in_24 is False or line.name == "define":
            continue
        for name in NAME.findall(line.args):
            if name not in seen and name not in defined:
                seen.add(name)
                stops = line.name == "mutex" or (environment and line.name in STOPS)
                yield Finding(
                    "X16",
                    line.place,
                    f"${{{name}}} is not set: 2.4 logs AH00111 and uses the text unchanged"
                    + f"; {line.node.name} then stops the start" * stops,
                    f"set {name} in envvars, or with Define",
                    Risk.BREAKS if stops else Risk.COSMETIC,
                )


def _mutexes(tree: ConfigTree) -> Iterator[Finding]:
    """Yield Mutex lines, which 2.2 did not have: no 2.2 shows that their variable is set."""
    for line in tree.named("mutex", include_inactive=True):
        for name in NAME.findall(line.args)[:1]:
            yield Finding(
                "X16",
                line.place,
                (
                    f"possible: the input does not show whether ${{{name}}} is set; without it 2.4 does not "
                    "start with Mutex"
                ),
                f"check envvars for {name}, or set it with Define",
                Risk.COSMETIC,
            )


def _environment(tree: ConfigTree) -> bool:
    """Return True if any variable of the text was set when it was read."""
    return any(
        NAME.search(line.node.args) and not NAME.search(line.args)
        for line in tree.all_statements()
        if "${" in line.node.args
    )


RULE = Rule("X16", "undefined-variables", "Variables that nobody sets", check)
