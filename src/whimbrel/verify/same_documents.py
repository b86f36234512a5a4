"""Documents of a comparison: both sides read the same ones for the same paths of the text.

A copy may have a part of its machine around the server, such as ``work/var/www`` beside ``work/etc/apache2``,
or an image of all of it. The copy that `upgrade --out` writes has the server alone: its text names the
documents at their own paths. Read each by its own rule, one side would have documents that the other lacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from whimbrel.base.dialect import Dialect
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.options import LoadOptions
from whimbrel.verify.loading import as_copy, load_side

MAX_ROOTS: Final = 3
"""Document roots that a sentence names."""


class ComparedOptions(NamedTuple):
    """The options of both sides, and the sentence about the documents; "" where no path was mapped anew."""

    old: LoadOptions
    new: LoadOptions
    documents: str = ""


class _Part(NamedTuple):
    """A directory of the text around the server, and where a copy has it."""

    original: str
    place: str


def as_copies(old: LoadOptions, new: LoadOptions, dialect: Dialect | str) -> ComparedOptions:
    """Return both sides for a comparison: *new* is a changed copy of *old*, with the same documents.

    *dialect* is that of *old*, which is loaded for its document roots where the sides map paths differently.
    Of the places of the same documents, one that has them counts: that of a copy before this machine's.
    """
    own = as_copy(old, old)
    copy = as_copy(old, new)
    parts = _part_of(old), _part_of(new)
    if old is new or parts[0] == parts[1]:
        return ComparedOptions(own, copy)
    originals = {part.original for part in parts if part is not None}
    if parts[0] is not None and parts[1] is not None and len(originals) > 1:
        return ComparedOptions(own, copy)  # their texts have no path in common
    original = originals.pop()
    roots = [root for root in _document_roots(own, dialect) if f"{root}/".startswith(f"{original}/")]
    if not roots:
        return ComparedOptions(own, copy)
    places = [part.place for part in parts if part is not None]
    found = next((place for place in places if _has_documents(place, original, roots)), "")
    if found and len(places) > 1 and all(_has_documents(place, original, roots) for place in places):
        return ComparedOptions(own, copy)  # each has its own, as the copy of an image does
    if not (found or len(places) > 1 or any(map(IN_PLACE.names_in, roots))):
        return ComparedOptions(
            _with_part(own, _Part(original, places[0])),
            _with_part(copy, _Part(original, places[0])),
            f"documents: none of {_named(roots)} has documents to read, neither in {places[0]} nor on this "
            "machine: both sides are compared without them",
        )
    if found:
        part = _Part(original, found)
        filled = [root for root in roots if _has_documents(found, original, [root])]
        return ComparedOptions(
            _with_part(own, part),
            _with_part(copy, part),
            f"documents: both sides read {_named(filled)} in {found}, the copy that has them"
            f"{_but(roots, filled)}",
        )
    filled = [root for root in roots if IN_PLACE.names_in(root)]
    if not filled:
        return ComparedOptions(own, copy)
    return ComparedOptions(
        _without_part(own, original),
        _without_part(copy, original),
        f"documents: both sides read {_named(filled)} of this machine: {' and '.join(places)} "
        f"{'has' if len(places) == 1 else 'have'} no documents to read{_but(roots, filled)}",
    )


def _part_of(options: LoadOptions) -> _Part | None:
    """Return the part of its machine that a copy has around the server; None for none."""
    root = f"{options.server_root.rstrip('/')}/"
    for original, place in options.copied if options.is_copy else ():
        above = place.rstrip("/")
        if above and root.startswith(f"{above}/") and root != f"{above}/":
            return _Part(original.rstrip("/"), above)
    return None


def _with_part(options: LoadOptions, part: _Part) -> LoadOptions:
    """Return *options* with the files of *part* in its place, those of the server in their own."""
    root = options.server_root.rstrip("/")
    pairs = tuple(pair for pair in options.copied if pair[0].rstrip("/") != part.original)
    return replace(
        options, is_copy=True, copied=(*(pairs or ((root, root),)), (part.original or "/", part.place))
    )


def _without_part(options: LoadOptions, original: str) -> LoadOptions:
    """Return *options* with the files of *original*, but for those of the server, on this machine."""
    pairs = (pair for pair in options.copied if pair[0].rstrip("/") != original)
    return replace(options, copied=tuple(pairs), stand_in_image="")


def _document_roots(options: LoadOptions, dialect: Dialect | str) -> list[str]:
    """Return the document roots that the text names, as it names them; [] for one that does not load."""
    side = load_side(options, dialect, origins=False)
    if not side.is_loaded:
        return []
    found = [server.config(CoreServerConfig).document_root for server in side.loaded.servers()]
    found[0] = found[0] or side.loaded.default_document_root
    return list(dict.fromkeys(root.rstrip("/") for root in found if root))


def _has_documents(place: str, original: str, roots: Iterable[str]) -> bool:
    """Return True if one of *roots* has something in it in *place*, the copy of *original* ("": an image,
    whose links are those of its machine)."""
    paths = IN_PLACE if original else CopiedPaths.links_of(place)
    return any(paths.names_in(place + root[len(original) :]) for root in roots)


def _but(roots: list[str], filled: list[str]) -> str:
    """Return the end of a sentence: those of *roots* that are not *filled*; "" for none."""
    empty = [root for root in roots if root not in filled]
    return f"; nothing to read there: {_named(empty)}" if empty else ""


def _named(roots: list[str]) -> str:
    more = [f"{len(roots) - MAX_ROOTS} more"] if len(roots) > MAX_ROOTS else []
    return ", ".join([*roots[:MAX_ROOTS], *more])
