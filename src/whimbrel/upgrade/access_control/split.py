"""One section that decides differently from folder to folder: the same section once more for each folder where it does.

A <Files> section is repeated inside the folder's <Directory> or .htaccess, where it comes later than the outer one; a <Location> or a Match
section is repeated behind itself, for the part of its paths that lies in the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from whimbrel.access.layers import Line
from whimbrel.config.model import SectionKind
from whimbrel.records import dataclass
from whimbrel.upgrade.access_control.chains import Chain
from whimbrel.upgrade.access_control.sections import Unit

Lines = tuple[Line, ...]
FILES: Final = frozenset({SectionKind.FILES, SectionKind.FILES_MATCH})
_REPEATED: Final = frozenset({SectionKind.LOCATION, SectionKind.LOCATION_MATCH, SectionKind.DIRECTORY_MATCH})


@dataclass(frozen=True, slots=True)
class Repeat:
    """*control* for requests below the folder of *holder*; *prefix* is its path as the section's pattern sees it (no slash at the end)."""

    holder: Unit
    control: Lines
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """What a section's own lines become, and its repetitions, shallow folders first."""

    control: Lines
    repeats: tuple[Repeat, ...] = ()


def folder_of(unit: Unit) -> str:
    """The folder that a section or file is about, "" where it is none alone."""
    if unit.kind is SectionKind.HTACCESS:
        return unit.folder
    return unit.pattern if unit.kind is SectionKind.DIRECTORY and unit.regex is None and not unit.fnmatch else ""


def can_repeat(unit: Unit) -> bool:
    """Whether there is a way to say the section once more for a part of its requests."""
    return not unit.proxy and (unit.kind in FILES or unit.kind in _REPEATED)


def can_hold(holder: Unit, unit: Unit) -> bool:
    """Return True if a repetition of *unit* for the folder of *holder* is about no other virtual host than *unit* is.

    A <Files> section is repeated inside its holder, which may serve several hosts; other sections are repeated behind themselves.
    """
    return unit.kind not in FILES or unit.server is None or unit.server is holder.server


def holders(unit: Unit, chain: Chain) -> list[Unit]:
    """The sections and files of *chain* whose folders tell it from others, shallow ones first."""
    mine = folder_of(unit.outer) if unit.outer is not None else ""
    found: dict[str, Unit] = {}
    for other in chain.units:
        folder = folder_of(other)
        if folder not in ("", "/", mine) and other is not unit and folder.startswith(mine):
            if unit.kind in FILES and other.kind is SectionKind.DIRECTORY and other.statement is None:
                continue
            found[folder] = other
    return list(found.values())


def prefix_of(unit: Unit, holder: Unit, chain: Chain) -> str | None:
    """The holder's folder as *unit*'s pattern sees it: a path or a URL path, without a slash at its end; None where it can't be told."""
    folder = folder_of(holder)
    if unit.kind in FILES:
        return ""
    if unit.kind is SectionKind.DIRECTORY_MATCH:
        return folder.rstrip("/")
    path, url = chain.path, chain.url
    rest = path[len(folder):] if path.startswith(folder) else None
    if rest is None or not url.endswith(rest):
        return url.rstrip("/") if path + "/" == folder else None
    return (url[:-len(rest)] if rest else url).rstrip("/") or None


def opening(unit: Unit, repeat: Repeat) -> str:
    """The opening line of a repetition, without brackets."""
    if unit.kind in FILES:
        assert unit.statement is not None
        return f"{_NAMES[unit.kind]} {unit.statement.args}"
    if unit.regex is None and not unit.fnmatch:
        return f'Location "{repeat.prefix}"'
    ahead = f"^(?={re.escape(repeat.prefix)}(?:/|$))"
    pattern = unit.pattern if unit.regex is not None else ""
    name = "DirectoryMatch" if unit.kind is SectionKind.DIRECTORY_MATCH else "LocationMatch"
    return f'{name} "{ahead}.*?(?:{pattern})"' if pattern and '"' not in pattern else f'{name} "{ahead}"'


_NAMES: Final = {SectionKind.FILES: "Files", SectionKind.FILES_MATCH: "FilesMatch"}


def in_order(chain: Chain, forms: Mapping[Unit, Form]) -> Iterator[tuple[Unit, Lines, bool]]:
    """The sections of a chain with their lines in the order of merging, repetitions included (told by True)."""
    index = {unit: at for at, unit in enumerate(chain.units)}
    waiting: list[tuple[int, Unit, Lines]] = []
    for unit in chain.units:
        depth = index.get(unit.outer, -1) if unit.outer is not None else -1
        if waiting and unit.kind is not SectionKind.DIRECTORY and (unit.kind not in FILES or depth >= 0):
            yield from ((u, lines, True) for at, u, lines in waiting if unit.kind not in FILES or at < depth)
            waiting = [] if unit.kind not in FILES else [entry for entry in waiting if entry[0] >= depth]
        form = forms.get(unit, Form(()))
        yield unit, form.control, False
        here = [repeat for repeat in form.repeats if repeat.holder in index]
        if unit.kind in FILES:
            waiting += [(index[repeat.holder], unit, repeat.control) for repeat in here]
            waiting.sort(key=lambda entry: entry[0])
        else:
            yield from ((unit, repeat.control, True) for repeat in here)
    yield from ((u, lines, True) for _, u, lines in waiting)


def grouped(unit: Unit, chains: Sequence[Chain]) -> list[tuple[Unit | None, list[Chain]]]:
    """The chains by the deepest folder that tells them apart, shallow ones first."""
    found: dict[str, tuple[Unit | None, list[Chain]]] = {}
    for chain in chains:
        deepest = max(holders(unit, chain), key=lambda u: len(folder_of(u)), default=None)
        key = folder_of(deepest) if deepest is not None else ""
        found.setdefault(key, (deepest, []))[1].append(chain)
    return [found[key] for key in sorted(found, key=len)]
