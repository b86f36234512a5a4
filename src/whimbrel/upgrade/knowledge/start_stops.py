"""Lines at which httpd ends its start on this machine alone: what they name is not here.

A configuration of another machine is read without them. Their text is right there, and no answer that is
compared depends on most of them, but a test of the server on this machine ends at each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from whimbrel.base.builds import WINDOWS
from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.errors import MissingResource, SourceLocation
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import root_relative
from whimbrel.config.load import no_library
from whimbrel.upgrade.knowledge.scope import KnowledgeScope

MAX_STOPS: Final = 6
"""Lines that a sentence names."""
MAX_REASON: Final = 160
"""Characters of a reason."""
NOT_HERE: Final = "not on this machine"
Place = Callable[[SourceLocation], str]
"""Returns the file and the line as a reader finds them."""


class StartStops(NamedTuple):
    """What ends the start on this machine.

    Attributes:
        module_files: the paths of LoadModule that lead to no library, by their lines in reading order.
        lines: other lines with httpd's reasons: users, groups, certificates, directories of logs.
    """

    module_files: tuple[tuple[SourceLocation, str], ...] = ()
    lines: tuple[tuple[SourceLocation, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.module_files or self.lines)

    @property
    def number(self) -> int:
        """The number of lines."""
        return len(self.module_files) + len(self.lines)

    def texts(self, place_of: Place) -> Iterator[str]:
        """Yield the module files as one text, then the other lines: httpd executes LoadModule while it reads,
        and most other lines when all is read.
        """
        yield from self.module_texts(place_of)
        yield from self.line_texts(place_of)

    def module_texts(self, place_of: Place) -> Iterator[str]:
        """Yield the first module file that is missing, with the number of the others; nothing for none."""
        if self.module_files:
            place, path = self.module_files[0]
            others = count_noun(len(self.module_files) - 1, "more module file")
            more = f", nor {word_for(len(self.module_files) - 1, 'is', 'are')} {others}"
            yield f"{place_of(place)}: {path} is {NOT_HERE}{more if len(self.module_files) > 1 else ''}"

    def line_texts(self, place_of: Place) -> Iterator[str]:
        """Yield ``FILE:LINE: reason`` of each line up to `MAX_STOPS`."""
        for place, reason in self.lines[:MAX_STOPS]:
            yield f"{place_of(place)}: {reason[:MAX_REASON]}"
        if len(self.lines) > MAX_STOPS:
            yield f"{len(self.lines) - MAX_STOPS} more lines"

    def other_facts(self, scope: KnowledgeScope) -> KnowledgeScope:
        """Return *scope* without the items about `lines` that do not matter: the sentence names them."""
        reasons = {reason for _, reason in self.lines[:MAX_STOPS]}
        items = (item for item in scope.items if item.matters or item.subject not in reasons)
        return KnowledgeScope(scope.files_read, tuple(items)) if reasons else scope


def start_stops(configuration: Configuration, further: Iterable[MissingResource] = ()) -> StartStops:
    """Return what ends the start of *configuration* on this machine; nothing for an image, whose server
    starts on its own. *further* are problems of steps after reading.
    """
    if configuration.options.image:
        return StartStops()
    lines = {
        problem.place: problem.reason
        for problem in (*configuration.missing, *further)
        if problem.stops and problem.place is not None
    }
    is_windows = configuration.build.name == WINDOWS  # its module files lie on its own machine
    files = tuple(
        (place, path)
        for place, path in configuration.module_files.items()
        if not is_windows and place not in lines and _is_missing(configuration, path)
    )
    return StartStops(files, tuple(lines.items()))


def _is_missing(configuration: Configuration, path: str) -> bool:
    """Return True if the file of a LoadModule line is no library."""
    return bool(no_library(configuration.disk.on_disk(root_relative(configuration.root, path))))
