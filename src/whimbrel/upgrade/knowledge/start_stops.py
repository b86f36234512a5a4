"""Lines at which httpd ends its start on this machine alone: what they name is not here.

A configuration of another machine is read without them. Their text is right there, and no answer that is
compared depends on most of them, but a test of the server on this machine ends at each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from whimbrel.base.builds import WINDOWS
from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.errors import ForeignDirective, ForeignProvider, MissingResource, SourceLocation
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import root_relative
from whimbrel.config.load import no_library
from whimbrel.upgrade.knowledge.scope import KnowledgeScope

MAX_STOPS: Final = 6
"""Lines that a sentence names."""
MAX_REASON: Final = 160
"""Characters of a reason."""
MISSING_FILE: Final = "not on this machine"
Place = Callable[[SourceLocation], str]
"""Returns the file and the line as a reader finds them."""


class StartStops(NamedTuple):
    """What ends the start on this machine.

    Attributes:
        module_files: the paths of LoadModule that lead to no library, by their lines in reading order.
        lines: other lines with httpd's reasons: users, groups, certificates, directories of logs; at last,
            without a place, those of defaults that no line sets.
    """

    module_files: tuple[tuple[SourceLocation, str], ...] = ()
    lines: tuple[tuple[SourceLocation | None, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.module_files or self.lines)

    @property
    def first(self) -> str:
        """``FILE:LINE: reason`` of the first of `lines`, "" for none."""
        return _text(*self.lines[0], written_place) if self.lines else ""

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
            yield f"{place_of(place)}: {path} is {MISSING_FILE}{more if len(self.module_files) > 1 else ''}"

    def line_texts(self, place_of: Place) -> Iterator[str]:
        """Yield ``FILE:LINE: reason`` of each line up to `MAX_STOPS`."""
        for place, reason in self.lines[:MAX_STOPS]:
            yield _text(place, reason[:MAX_REASON], place_of)
        if len(self.lines) > MAX_STOPS:
            yield f"{len(self.lines) - MAX_STOPS} more lines"

    def other_facts(self, scope: KnowledgeScope) -> KnowledgeScope:
        """Return *scope* without the items about `lines` that do not matter: the sentence names them."""
        reasons = {reason for _, reason in self.lines[:MAX_STOPS]}
        items = (item for item in scope.items if item.matters or item.subject not in reasons)
        return KnowledgeScope(scope.files_read, tuple(items)) if reasons else scope


def _text(place: SourceLocation | None, reason: str, place_of: Place) -> str:
    return reason if place is None else f"{place_of(place)}: {reason}"


def written_place(place: SourceLocation) -> str:
    """Return ``FILE:LINE`` as it was read: a `Place`."""
    return f"{place.path}:{place.line}"


def start_stops(configuration: Configuration, further: Iterable[MissingResource] = ()) -> StartStops:
    """Return what ends the start of *configuration* on this machine. Of an image these are lines alone: its
    module files are those of its machine. A copy of another tree need not have the places of the defaults.
    *further* are problems of steps after reading.
    """
    options = configuration.options
    is_copy = bool(options.image or options.stand_in_root)
    problems = [
        problem
        for problem in (*configuration.missing, *further)
        if problem.stops and (problem.place is not None or not is_copy)
        # the line that loads a module stops the start before the lines that need it
        if not isinstance(problem, ForeignDirective | ForeignProvider)
    ]
    # what a line stops ends the start before what is complete is checked
    problems.sort(key=lambda problem: problem.place is None)
    lines = {problem.place or problem.reason: (problem.place, problem.reason) for problem in problems}
    # its module files lie on its own machine
    is_elsewhere = bool(options.image) or configuration.build.name == WINDOWS
    files = tuple(
        (place, path)
        for place, path in configuration.module_files.items()
        if not is_elsewhere and place not in lines and _is_missing(configuration, path)
    )
    return StartStops(files, tuple(lines.values()))


def _is_missing(configuration: Configuration, path: str) -> bool:
    """Return True if the file of a LoadModule line is no library."""
    return bool(no_library(configuration.disk.on_disk(root_relative(configuration.root, path))))
