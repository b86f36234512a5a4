"""Lines at which 2.4 ends its start where what they name is missing, as it is here: files, users, suEXEC.

A copy of another machine need not have them, so whether the server starts is not decided.
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.errors import ForeignResource, SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.knowledge.loaded import NO_START_ANSWERS, item_of
from whimbrel.upgrade.knowledge.scope import UnknownItem
from whimbrel.upgrade.model import LOAD_ERROR, READ_ERROR


def missing_at_start(result: UpgradeResult) -> Iterator[UnknownItem]:
    """Yield an item for each such line of the new text, in the order in which 2.4 executes them.

    Places are lines of the text as it was read. What no line of it names, such as the directory of a default,
    is left out, as are lines that have a finding, and those of modules that are not here.
    """
    if result.loaded is None:
        return
    known = {
        (one.place.path, one.place.line) for one in result.findings if one.rule in (READ_ERROR, LOAD_ERROR)
    }
    for problem in result.loaded.missing:
        if problem.place is None or not problem.stops or isinstance(problem, ForeignResource):
            continue
        place = _as_read(result, problem.place)
        if place is not None and (place.path, place.line) not in known:
            item = item_of(problem)
            yield replace(item, place=place, consequence=item.consequence or NO_START_ANSWERS, matters=False)


def _as_read(result: UpgradeResult, place: SourceLocation) -> SourceLocation | None:
    """Return *place* of the new text as the old one has it, None if an edit wrote the line."""
    line_map = result.line_maps.get(place.path)
    line = line_map.unchanged_from(place.line) if line_map is not None else place.line
    return replace(place, line=line) if line else None
