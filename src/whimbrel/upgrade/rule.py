"""Upgrade rules: a number, a name, and the function that finds what one change of 2.4 does to a
configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.source.config_tree import ConfigTree

LOAD_MODULE: Final = 10
"""The order of the rules that write LoadModule lines."""


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
        check_loaded: yields the findings that wait for the LoadModule lines of 2.4, in the order of those.
    """

    number: str
    name: str
    title: str
    check: Callable[[ConfigTree], Iterator[Finding]] = field(repr=False)
    order: int = 0
    also: tuple[str, ...] = ()
    check_loaded: Callable[[ConfigTree], Iterator[Finding]] | None = field(default=None, repr=False)

    def stages(self) -> Iterator[Rule]:
        """Yield the rule as one for each order in which it runs."""
        yield self
        if self.check_loaded is not None:
            yield replace(self, check=self.check_loaded, order=LOAD_MODULE, check_loaded=None)
