""".htaccess files of a copy, read in the place of files that no upgrade has written yet."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.counts import count_noun
from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.source.reading import Sources
from whimbrel.verify.loading import with_copied_htaccess


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


def copies_item(options: LoadOptions) -> UnknownItem | None:
    """Return the item about all such files, None without one."""
    found = list(unwritten_copies(options))
    if not found:
        return None
    place, copy = found[0]
    more = f", and {count_noun(len(found) - 1, 'more file')} likewise" if len(found) > 1 else ""
    subject = f"read in the place of {place}{more}"
    return _item(copy, subject, matters=False)


def copy_item(place: str, copy: str) -> UnknownItem:
    """Return the item about one such file that a request meets."""
    return _item(copy, f"a copy of {place}", matters=True)


def _item(copy: str, subject: str, *, matters: bool) -> UnknownItem:
    return UnknownItem(
        UnknownKind.STAND_IN,
        SourceLocation(copy, 1),
        subject,
        "a server reads the file in its place, which has another text",
        "`whimbrel upgrade --write` writes it",
        matters,
    )
