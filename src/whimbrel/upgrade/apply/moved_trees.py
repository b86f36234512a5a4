"""Decisions about a tree that was moved or copied after its upgrade: the journal is found by the text.

A journal has the path of the tree that the upgrade wrote. Where the present path has none, a tree with a
comment that records a decision is compared with the newest journals of this user: it is the tree of one if it
has, at the same places, most of the lines that the upgrade wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.real_paths import real_path
from whimbrel.upgrade.apply.journal import Journal, WriteError
from whimbrel.upgrade.apply.left_decisions import LeftDecision
from whimbrel.upgrade.apply.state_directory import NoStateDirectory, StateDirectory
from whimbrel.upgrade.source.section_ranges import stripped_lines
from whimbrel.upgrade.source.suppressions import suppressions

MAX_JOURNALS: Final = 200
"""The newest journals that are looked at."""


def decisions_of_moved(
    directory: str, files: Iterable[str], text_of: Callable[[str], bytes]
) -> tuple[LeftDecision, ...]:
    """Return what the upgrade of the tree that stands at *directory* left to a person when the tree stood
    elsewhere, with the present paths; nothing if none of *files* has a comment with a rule, or if no journal
    is of this text. *text_of* returns the text of a file.
    """
    paths = list(files)
    if not any(any(suppressions(text_of(path)).values()) for path in paths):
        return ()
    real = real_path(directory)
    places = {real_path(path): path for path in paths}

    @cache
    def lines_of(path: str) -> frozenset[bytes]:
        return frozenset(stripped_lines(text_of(places[path])) if path in places else ())

    best: tuple[float, tuple[LeftDecision, ...]] = (0.5, ())
    for state in StateDirectory.newest(MAX_JOURNALS):
        if state.tree == real:
            continue
        try:
            journal = Journal.load(state)
        except (WriteError, NoStateDirectory):
            continue
        moved = _Move(state.tree, real)
        share = _share(journal, moved, lines_of)
        if journal.left and share > best[0]:
            best = share, tuple(one._replace(path=moved.present(one.path)) for one in journal.left)
    return best[1]


class _Move:
    """The way from one path of a tree to another; what both paths end with may be part of an image."""

    def __init__(self, before: str, present: str) -> None:
        old = before.split("/")
        new = present.split("/")
        while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
            old.pop()
            new.pop()
        self._before = "/".join(old)
        self._present = "/".join(new)

    def present(self, path: str) -> str:
        """Return the present path of what was at *path*."""
        if path == self._before or path.startswith(f"{self._before}/"):
            return self._present + path[len(self._before) :]
        return path


def _share(journal: Journal, moved: _Move, lines_of: Callable[[str], frozenset[bytes]]) -> float:
    """Return the share of the lines of an upgrade, which it wrote or was about, that the present files have,
    from 0 to 1.
    """
    texts = {(edit.path, line.text) for edit in journal.written for line in edit.new}
    texts |= {(one.path, text) for one in journal.left for text in one.about}
    found = sum(to_bytes(text) in lines_of(moved.present(path)) for path, text in texts)
    return found / len(texts) if texts else 0.0
