"""Loaded sides of an edited configuration: the whole, or the slice that answers one host."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.includes import read_overlaid
from whimbrel.config.options import LoadOptions
from whimbrel.studio.slices import ConfigSlices
from whimbrel.verify.loading import load_side
from whimbrel.verify.side import Side

MAX_COMPLETE: Final = 3
"""Whole configurations that are kept."""
MAX_SLICED: Final = 8
"""Slices that are kept."""
Edits = Mapping[str, bytes]
EditKey = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class _Base:
    """The last whole configuration of a dialect that loaded, as slices."""

    slices: ConfigSlices
    options: LoadOptions


class LoadedSides:
    """Sides by edits and dialect.

    Key: the edited texts, the dialect, and the host of a slice; value: the side, valid while no other file
    changes on disk (`forget`); bound MAX_COMPLETE and MAX_SLICED; the oldest is evicted.
    """

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._complete: BoundedDict[tuple[EditKey, str], Side] = BoundedDict(MAX_COMPLETE)
        self._sliced: BoundedDict[tuple[EditKey, str, str], Side] = BoundedDict(MAX_SLICED)
        self._bases: dict[str, _Base] = {}

    def forget(self) -> None:
        """Drop all sides: files on disk have changed."""
        self._complete.clear()
        self._sliced.clear()
        self._bases.clear()

    def complete(self, edits: Edits, dialect: str) -> Side:
        """Return the side of the whole configuration with *edits*."""
        key = (tuple(sorted(edits.items())), dialect)
        side = self._complete.get(key)
        if side is None:
            side = self._loaded(self._options, edits, dialect)
            self._complete[key] = side
            if side.is_loaded:
                self._bases[dialect] = _Base(ConfigSlices(_texts_of(side)), side.options)
        return side

    def for_host(self, edits: Edits, dialect: str, host: str) -> tuple[Side, bool]:
        """Return the side that answers *host*, and True if it is that of the whole configuration.

        The first call reads the whole.
        """
        key = tuple(sorted(edits.items()))
        base = self._bases.get(dialect)
        if base is None or not base.slices.has_many_hosts or (key, dialect) in self._complete:
            return self.complete(edits, dialect), True
        side = self._sliced.get((key, dialect, host.lower()))
        if side is None:
            texts = base.slices.texts_for(host, edits)
            options = replace(
                self._options,
                compiled_in=base.options.compiled_in,
                built_in_origin=base.options.built_in_origin,
            )
            side = self._loaded(options, {**edits, **texts}, dialect)
            self._sliced[key, dialect, host.lower()] = side
        return side, False

    def _loaded(self, options: LoadOptions, texts: Edits, dialect: str) -> Side:
        gc.collect(0)
        gc.disable()  # a configuration is a million live objects
        try:
            return load_side(replace(options, overlay={**options.overlay, **texts}), dialect)
        finally:
            gc.enable()


def _texts_of(side: Side) -> dict[str, bytes]:
    """Return the texts of the files that *side* was read from, in the order of reading."""
    found: dict[str, bytes] = {}
    for included in side.loaded.includes:
        if included.path not in found:
            try:
                found[included.path] = read_overlaid(included.path, side.options)
            except OSError:
                continue
    return found
