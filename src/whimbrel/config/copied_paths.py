"""Paths of a configuration that lies elsewhere than its text states: a copy of a server's files.

A file of this machine is no part of a copy, even if the text names it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StandIn:
    """A file at *place* that is read for a missing one, which the line *name* at *line* names."""

    place: str
    line: SourceLocation
    name: str


class CopiedPaths:
    """Places of a server's directories in a copy.

    Attributes:
        root: the server root of the copy.
        declared_root: the ServerRoot of the text, or that of its layout; "" if none is known.
    """

    __slots__ = ("_places", "declared_root", "root")

    def __init__(self, root: str, places: Sequence[tuple[str, str]]) -> None:
        self.root = root.rstrip("/")
        self.declared_root = places[0][0] if places else ""
        self._places = [(original.rstrip("/"), place.rstrip("/")) for original, place in places]

    def declare_root(self, path: str) -> None:
        """ServerRoot: *path* is where the text has the files of `root`, if nothing states another place."""
        self.declared_root = path
        if not self._found(path):
            self._places.append((path.rstrip("/"), self.root))

    def place(self, path: str) -> str:
        """Return the location of *path*, "" if it lies outside of the copy."""
        declared = self.declared_root.rstrip("/")
        if declared in ("", self.root) or path == os.devnull:
            return path
        if f"{path}/".startswith(f"{self.root}/"):
            return self._found(declared + path[len(self.root) :]) or path
        if any(place and f"{path}/".startswith(f"{place}/") for _original, place in self._places):
            return path  # a line that was changed for the copy
        return self._found(path)

    def _found(self, path: str) -> str:
        best = -1
        result = ""
        for original, place in self._places:
            if len(original) > best and f"{path}/".startswith(f"{original}/"):
                best = len(original)
                result = place + path[len(original) :]
        return result
