"""Places of a text for a terminal: paths below the directory of the new configuration, as `check` of it has
them. The directory is named once, and what lies outside of it keeps its path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, cast

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.terminal_text import shown
from whimbrel.report.entries import relative_places
from whimbrel.report.readiness import READY

if TYPE_CHECKING:
    from whimbrel.report.page.model import ReportPage

_COMMAND: Final = "whimbrel "
_DOCUMENTS: Final = "documents: "
_TOP: Final = 4
"""Lines in which the sentence about going live is a part of the top."""


def with_relative_places(text: str, directory: str, old: str = "", *, is_relative: bool = False) -> str:
    """Return *text*, lines for a terminal, with ``FILE:LINE`` below *directory*, and a line that names it
    behind the sentence about going live or the verdict; commands stay as they are. A text without such a
    place is the same.

    *old*: the directory of the old text, whose places are paths below that. *is_relative*: some places have
    such paths already.
    """
    lines = text.splitlines(keepends=True)
    changed = []
    for line in lines:
        before, command, behind = line.partition(_COMMAND)
        changed.append(f"{_relative(before, directory, old)}{command}{behind}")
    places = sum(new != old_line for new, old_line in zip(changed, lines, strict=True))
    if not directory or not (places or is_relative):
        return text
    verdict = 2 if changed[0].startswith(_DOCUMENTS) else 1
    at = next((at for at, line in enumerate(changed[:_TOP], 1) if READY in line), verdict)
    if is_relative:  # the answer is of several lines
        at = next((at for at, line in enumerate(changed) if not line.strip()), at)
    has_old = bool(old) and (is_relative or relative_places(text, old) != text)
    changed.insert(at, f"{_base(directory, old if has_old else '')}\n")
    return "".join(changed)


def page_with_relative_places(page: ReportPage, directory: str, old: str = "") -> ReportPage:
    """Return *page* with its places as `with_relative_places` has those of a text."""
    changed = _of_page(page, directory, old)
    if not directory or changed == page:
        return page
    has_old = bool(old) and _of_page(page, old, "") != page
    base = _base(directory, old if has_old else "")
    return replace(changed, facts=(base, *changed.facts))


def old_directory(directory: str, new: str, image: str) -> str:
    """Return the directory of an old side: of an image of a machine its top, as *image* is that of the server
    in *new*; else *directory*, which is "" where both sides are one.
    """
    if directory == new:
        return ""
    below = new.removeprefix(image.rstrip("/"))
    return directory.removesuffix(below) if image and below != new else directory


def _base(directory: str, old: str) -> str:
    of_old = f"; of the old text: below {shown(old)}" if old and old != directory else ""
    return f"files: below {shown(directory)}{of_old}"


def _relative(text: str, directory: str, old: str) -> str:
    text = relative_places(text, directory)
    return relative_places(text, old) if old else text


Part = TypeVar("Part")


def _of_page(part: Part, directory: str, old: str) -> Part:
    """Return *part* of a page with the places of all its texts below the directories."""
    if isinstance(part, str):
        return cast("Part", _of_text(part, directory, old))
    if isinstance(part, tuple):
        return cast("Part", tuple(_of_page(one, directory, old) for one in part))
    names = getattr(type(part), "__slots__", ())
    values = {name: getattr(part, name) for name in names}
    changed = {name: _of_page(value, directory, old) for name, value in values.items()}
    changed = {name: value for name, value in changed.items() if value != values[name]}
    # any dataclass of the model is a part
    return replace(cast("ReportPage", part), **changed) if changed else part  # type: ignore[return-value]


def _of_text(text: str, directory: str, old: str) -> str:
    """Return a text of a page; one that is the name of a file has no number of a line."""
    for one in filter(None, (directory, old)):
        top = f"{one.rstrip('/')}/"
        if text.startswith(top) and " " not in text and len(top) > 1:
            return text[len(top) :]
    before, command, behind = text.partition(_COMMAND)
    return f"{_relative(before, directory, old)}{command}{behind}"
