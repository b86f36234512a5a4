"""The <Location> sections of a server, indexed by the first segment of the path."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.config.model import Section


class Locations:
    """The <Location> sections of a server, indexed by the first path segment if all are literal."""

    __slots__ = ("_by_first", "_everywhere", "sections")

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections
        self._by_first: dict[str, list[Section]] | None = None
        if all(
            section.regex is None and not section.fnmatch and section.pattern.startswith("/")
            for section in sections
        ):
            ranks: dict[str, list[int]] = {}
            for rank, section in enumerate(sections):
                ranks.setdefault(section.pattern.split("/", 2)[1], []).append(rank)
            everywhere = ranks.pop("", [])
            self._everywhere = [sections[rank] for rank in everywhere]
            self._by_first = {
                first: [sections[rank] for rank in sorted(ranks_of_first + everywhere)]
                for first, ranks_of_first in ranks.items()
            }

    def candidates(self, uri: str) -> Sequence[Section]:
        """Those that may be about *uri*, in their order; it has no doubled slashes."""
        if self._by_first is None or uri[:1] != "/":
            return self.sections
        return self._by_first.get(uri.split("/", 2)[1], self._everywhere)
