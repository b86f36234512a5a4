"""Upgrade rules: a number, a name, and the function that finds what one change of 2.4 does to a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.source.config_tree import ConfigTree


@dataclass(frozen=True, slots=True)
class Rule:
    """One change of 2.2 to 2.4.

    *number* is its row; *name* is short and in lower case with hyphens, and with the number names its document,
    ``documents/NUMBER-NAME.md``.  *title* is one line.  *check* gives its findings in the order of the files.  *order* groups the passes: rules of a
    lower order have their edits applied before those of a higher one look (LoadModule lines are worked out last).  *also* are further rows that
    it covers, whose numbers its findings may carry.
    """

    number: str
    name: str
    title: str
    check: Callable[[ConfigTree], Iterator[Finding]] = field(repr=False)
    order: int = 0
    also: tuple[str, ...] = ()
