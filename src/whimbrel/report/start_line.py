"""The sentence of an upgrade about the start: does 2.4 load the new text, and what ends its start on this
machine.
"""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.counts import and_more
from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.loaded import OF_TYPES, STARTS
from whimbrel.upgrade.knowledge.start_stops import StartStops, start_stops

OF_MACHINE: Final = "modules, users and certificates of its machine were not tested"
_CODE: Final = re.compile(r"^(?:\([0-9]+\)[^:]*: )?(?:AH[0-9]{5}: )?")
"""The number of the system's error and the code of httpd, before the fact."""
NEW_TEXT: Final = "(new text)"
"""Mark of a line that the text of 2.2 lacks."""


def start_line(result: UpgradeResult, directory: str, *, is_open: bool, is_written: bool) -> str:
    """Return that 2.4 loads the new text, and what ends its start on this machine alone; "" where it was not
    loaded, and where it does not load and nothing more ends it.

    *is_open*: 2.4 does not start until a person has decided. Lines are those of the text as it was read;
    those that it lacks have a mark, and the number of the new one. *is_written*: the new text is there.
    """
    if result.loaded is None:
        return ""

    def place_of(place: SourceLocation) -> str:
        path = display_path(place.path, directory)
        line_map = None if is_written else result.line_maps.get(place.path)
        if line_map is None:
            return f"{path}:{place.line}"
        line = line_map.unchanged_from(place.line)
        return f"{path}:{line}" if line else f"{path}:{place.line} {NEW_TEXT}"

    stops = "; ".join(stops_of(result).texts(place_of))
    if is_open:
        return f"start: on this machine 2.4 ends at {stops}" if stops else ""
    if stops:
        return f"start: 2.4 loads the new text; on this machine it ends at {stops}"
    return f"start: 2.4 loads the new text{_not_in_image(result)}; {OF_MACHINE}"


def _not_in_image(result: UpgradeResult) -> str:
    """Return what ends the start of the server of an image, whose files are not in it; "" for nothing."""
    if not result.tree.disk.image:
        return ""
    items = (item.subject for item in result.scope.items if item.consequence in STARTS)
    subjects = dict.fromkeys(_CODE.sub("", subject).rstrip(".") for subject in items)
    first = next(iter(subjects), "")
    return f"; it needs what the image lacks: {first}{and_more(len(subjects) - 1)}" if first else ""


def stops_of(result: UpgradeResult) -> StartStops:
    """Return what ends the start of the new text on this machine; nothing for an image, and for what was not
    loaded.
    """
    if result.loaded is None or result.tree.disk.image:
        return StartStops()
    stops = start_stops(result.loaded)
    items = [item for item in result.scope.items if item.consequence == OF_TYPES]
    types = tuple((item.place, item.subject) for item in items if item.place is not None)
    return stops._replace(lines=(*stops.lines, *types))
