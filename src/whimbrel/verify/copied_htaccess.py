""".htaccess files of a copy, read in the place of files that no upgrade has written yet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.dialect import V24
from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.configuration import Configuration
from whimbrel.config.htaccess import ALL
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.loading import parse_htaccess
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.source.reading import Sources

ANOTHER_TEXT: Final = "a server reads the file in its place, which has another text"


def with_copied_htaccess(old: LoadOptions, new: LoadOptions) -> LoadOptions:
    """Return *new* with the .htaccess files of its root at the places that they are copies of.

    `upgrade --out` writes files below the server root under their relative paths, others under their absolute
    ones. A copy counts if the file that it is a copy of exists. Without another *old* server, absolute paths
    alone tell a copy.
    """
    if new.image:
        return new  # an image has its documents in it
    copy = new.server_root.rstrip("/")
    origin = old.server_root.rstrip("/")
    if not copy:
        return new
    origins = ("",) if copy == origin else ("", origin)
    found: dict[str, bytes] = {}
    copies: dict[str, str] = {}
    for directory, inner, names in os.walk(to_bytes(copy)):
        below = to_text(directory).removeprefix(copy)
        # nothing is a copy below a directory that no original has
        inner[:] = [
            name for name in inner if any(os.path.isdir(to_bytes(f"{one}{below}/") + name) for one in origins)
        ]
        for one in origins if b".htaccess" in names else ():
            place = f"{one}{below}/.htaccess"
            if os.path.isfile(to_bytes(place)):
                found[place] = read_regular(directory + b"/.htaccess")
                copies[place] = f"{to_text(directory)}/.htaccess"
                break
    return replace(new, overlay={**found, **new.overlay}, copies=copies) if found else new


def as_copied(sources: Sources) -> Sources:
    """Return *sources* with the .htaccess files of a copy by `upgrade --out` at their places."""
    if sources.options is None:
        return sources
    options = with_copied_htaccess(sources.options, sources.options)
    read = frozenset(options.copies.values())
    fragments = tuple(path for path in sources.fragments if path not in read)
    return replace(sources, options=options, fragments=fragments)


def unwritten_copies(options: LoadOptions) -> Iterator[tuple[str, str]]:
    """Yield the places of .htaccess files that differ from their copies, each with the copy that is read."""
    for place, copy in options.copies.items():
        try:
            is_written = read_regular(to_bytes(place)) == options.overlay.get(place)
        except OSError:
            is_written = False
        if not is_written:
            yield place, copy


def refused_line(configuration: Configuration, place: str, known: dict[bytes, int]) -> int:
    """Return the number of the first line at *place*, a .htaccess file as it is there, which *configuration*
    refuses under 2.4; 0 for none. *known* stores the number by the text: hosts repeat their files.
    """
    if configuration.dialect is not V24:
        return 0
    try:
        data = read_regular(to_bytes(place))
    except OSError:
        return 0
    if data not in known:
        problem = parse_htaccess(configuration, place, data, ALL, V24)
        known[data] = problem.place.line if problem is not None and problem.place is not None else 0
    return known[data]


def unwritten_sentence(configuration: Configuration, options: LoadOptions) -> str:
    """Return where a server of a copy answers 500, as the old .htaccess files are in their places; "" for
    nowhere.
    """
    known: dict[bytes, int] = {}
    found = [place for place, _ in unwritten_copies(options) if refused_line(configuration, place, known)]
    if not found:
        return ""
    directory = found[0].rpartition("/")[0]
    number = len(found) - 1
    more = f" and {count_noun(number, 'more directory', 'more directories')}" if number else ""
    return (
        f"a server of this copy answers 500 below {directory}{more}, where the .htaccess file is the old "
        "one, until `whimbrel upgrade --write` writes it"
    )


def copies_item(options: LoadOptions) -> UnknownItem | None:
    """Return the item about all such files, None without one."""
    found = list(unwritten_copies(options))
    if not found:
        return None
    place, copy = found[0]
    more = f", and {count_noun(len(found) - 1, 'more file')} likewise" if len(found) > 1 else ""
    return _item(copy, f"read in the place of {place}{more}", ANOTHER_TEXT, matters=False)


def copy_item(configuration: Configuration, place: str, copy: str) -> UnknownItem:
    """Return the item about one such file that a request meets."""
    line = refused_line(configuration, place, {})
    stops = f"2.4 answers 500 with the file in its place ({place}:{line})"
    consequence = stops if line else ANOTHER_TEXT
    return _item(copy, f"a copy of {place}", consequence, matters=True)


def _item(copy: str, subject: str, consequence: str, *, matters: bool) -> UnknownItem:
    return UnknownItem(
        UnknownKind.STAND_IN,
        SourceLocation(copy, 1),
        subject,
        consequence,
        "`whimbrel upgrade --write` writes it",
        matters,
    )
