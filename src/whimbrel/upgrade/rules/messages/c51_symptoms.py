"""C51: warnings of 2.4 about lines that no other rule removes. Document: documents/C51-symptoms.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

DEFAULT_TYPE: Final = "AH00117: Ignoring deprecated use of DefaultType in line {line} of {file}."
NAME_VIRTUAL_HOST: Final = (
    "AH00548: NameVirtualHost has no effect and will be removed in the next release {file}:{line}"
)


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line for each warning that 2.4 logs at the start."""
    types = (
        line for line in tree.named("defaulttype") if [word.lower() for word in line.words()[:1]] != ["none"]
    )
    for lines, shape in ((types, DEFAULT_TYPE), (tree.named("namevirtualhost"), NAME_VIRTUAL_HOST)):
        for line in lines:
            yield Finding(
                "C51",
                line.place,
                f"2.4 ignores the line and logs: {_warning(shape, line)}",
                "remove the line",
                Risk.COSMETIC,
            )
            break


def _warning(shape: str, line: Statement) -> str:
    return shape.format(line=line.place.line, file=line.place.path)


RULE = Rule("C51", "symptoms", "What an unprepared upgrade looks like", check)
