"""What may stand in a line: the contexts that the file and the sections around it give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.catalogue import DirectiveEntry
from whimbrel.catalogue.context_rules import DirectiveContext, forbidden_places, message, violated
from whimbrel.config.execute import IN_MAIN_FILE, IN_SECTION
from whimbrel.directives.spec import Context
from whimbrel.upgrade.source.queries import BRANCH_SECTIONS

EVERYWHERE: Final = IN_MAIN_FILE | IN_SECTION | int(Context.PROXY_CONF)
PER_DIRECTORY: Final = frozenset(
    (
        "<directory",
        "<directorymatch",
        "<location",
        "<locationmatch",
        "<files",
        "<filesmatch",
        "<if",
        "<elseif",
        "<else",
    )
)
PROXY: Final = frozenset(("<proxy", "<proxymatch"))
LIMITS: Final = frozenset(("<limit", "<limitexcept"))
AUTHORIZATION: Final = frozenset(("<requireall", "<requireany", "<requirenone"))
VIRTUAL_HOST: Final = "<virtualhost"
MACRO: Final = "<macro"


class FileKind(Enum):
    """The use of a file."""

    MAIN = "the main file of a server"
    HTACCESS = ".htaccess"
    FRAGMENT = "a file that is included, by an unknown section"


@dataclass(frozen=True, slots=True)
class LineContext:
    """The context of a line.

    Attributes:
        bits: the contexts of `directives.spec.Context` that the place has.
        is_unknown: anything may stand there: the text of a macro, an unknown section.
    """

    bits: int
    place: DirectiveContext
    is_unknown: bool = False

    def refusal(self, row: DirectiveEntry, version: str) -> str:
        """Return why *version* refuses a directive in this place, as httpd words it; "" if it is allowed."""
        if self.is_unknown:
            return ""
        if not row.where & self.bits:
            return f"{row.name} not allowed here"
        return message(row.name, violated(forbidden_places(row), self.place, version))


def section_key(name: str) -> str:
    """Return the name of a section in lower case, with ``<``."""
    return f"<{lower(name)}"


def context_in(kind: FileKind, names: Iterable[str]) -> LineContext:
    """Return the context of a line of a file in sections with these names, the outermost first."""
    return _context(kind, tuple(f"<{name}" for name in names))


@lru_cache(maxsize=1024)
def _context(kind: FileKind, names: Sequence[str]) -> LineContext:
    """Key: kind of file and sections. Value: the context. Valid for ever; the least used of 1024 go."""
    bits = {FileKind.MAIN: IN_MAIN_FILE, FileKind.HTACCESS: int(Context.OR_ALL)}.get(kind, EVERYWHERE)
    is_unknown = False
    keys = tuple(map(lower, names))
    for name in keys:
        if name == VIRTUAL_HOST:
            bits = IN_MAIN_FILE
        elif name in PER_DIRECTORY:
            bits = bits if kind is FileKind.HTACCESS else IN_SECTION
        elif name in PROXY:
            bits = IN_SECTION | int(Context.PROXY_CONF)
        elif name not in LIMITS and name not in AUTHORIZATION and name not in BRANCH_SECTIONS:
            is_unknown = True
    known = [name for name in keys if name not in BRANCH_SECTIONS]
    place = DirectiveContext(
        sections=names[::-1],
        in_limit=any(name in LIMITS or name in AUTHORIZATION for name in known),
        is_per_directory=kind is FileKind.HTACCESS
        or any(name in PER_DIRECTORY or name in PROXY for name in known),
        in_virtual_host=VIRTUAL_HOST in known,
        in_htaccess=kind is FileKind.HTACCESS,
    )
    return LineContext(bits, place, is_unknown)
