"""X16: ${APACHE_LOCK_DIR} and others that nobody sets.  Document: documents/X16-undefined-variables.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Risk, Rule

NAME: Final = re.compile(r"(?<!\\)\$\{(\w+)\}")


def check(estate: Estate) -> Iterator[Finding]:
    """The first use of each variable that is not set, where others are: then what sets them is at hand."""
    seen: set[str] = set()
    defined = {line.words()[0] for line in estate.named("define", dead=True) if line.words()}
    if not defined and not _environment(estate):
        return
    for line in estate.everything():
        if "${" not in line.args or line.in_24 is False or line.name == "define":
            continue
        for name in NAME.findall(line.args):
            if name not in seen and name not in defined:
                seen.add(name)
                yield Finding("X16", line.place, f"${{{name}}} is not set: 2.4 warns (AH00111) and takes the text as it stands",
                              f"set {name} in envvars, or with Define", Risk.COSMETIC)


def _environment(estate: Estate) -> bool:
    """Whether any variable of the text was known when it was read."""
    return any(NAME.search(line.node.args) and not NAME.search(line.args) for line in estate.everything() if "${" in line.node.args)


RULE = Rule("X16", "undefined-variables", "Variables that nobody sets", check)
