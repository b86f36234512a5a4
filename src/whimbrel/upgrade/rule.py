"""Upgrade rules: a number, a name, and the function that finds what one change of 2.4 does to a
configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.source.config_tree import ConfigTree


@dataclass(frozen=True, slots=True)
class Rule:
    """One change from 2.2 to 2.4.

    Attributes:
        number: the number of its row.
        name: a short name in lower case with hyphens; the document is ``documents/NUMBER-NAME.md``.
        title: one line of text.
        check: yields the findings in the order of the files.
        order: rules of a lower order have their edits applied before those of a higher one run (LoadModule
            lines are last).
        also: further rows that the rule covers; its findings may carry their numbers.
    """

    number: str
    name: str
    title: str
    check: Callable[[ConfigTree], Iterator[Finding]] = field(repr=False)
    order: int = 0
    also: tuple[str, ...] = ()
