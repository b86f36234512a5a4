"""The scopes outside virtual hosts, indexed by the directories that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whimbrel.verify.config_lines import ConfigLine, LineScope, SideLines
from whimbrel.verify.derive.mapped_directories import above

_DIRECTORY = frozenset(("directory", "htaccess"))


class SharedScopes:
    """Finds the scopes of the main server that can apply below some directories.

    Attributes:
        general: scopes without one directory: patterns, <Location>, the main server itself.
    """

    def __init__(self, lines: SideLines) -> None:
        self.general: list[LineScope] = []
        self._at: dict[str, list[LineScope]] = {}
        self._inside: dict[str, list[LineScope]] = {}
        for scope in lines.of_host(("", 0)):
            directory = _directory_of(scope)
            if not directory:
                self.general.append(scope)
                continue
            self._at.setdefault(directory, []).append(scope)
            for outer in above(directory):
                self._inside.setdefault(outer, []).append(scope)

    def inside(self, tops: Iterable[str]) -> list[LineScope]:
        """Return the scopes of *tops* (each with its slash) and of directories below them."""
        return _distinct(self._at.get(top, []) + self._inside.get(top, []) for top in tops)

    def around(self, tops: Iterable[str]) -> list[LineScope]:
        """Return the scopes of the directories above *tops*."""
        return _distinct(self._at.get(outer, []) for top in tops for outer in above(top))


def _directory_of(scope: LineScope) -> str:
    """Return the directory that *scope* is limited to, with its slash; "" if it has a pattern or none."""
    inner: LineScope | None = scope
    while inner is not None and inner.kind not in _DIRECTORY:
        inner = inner.outer
    if inner is None:
        return ""
    if inner.kind == "htaccess":
        return inner.args
    words = ConfigLine("", inner.args, "", 0, inner).words()
    if len(words) != 1 or not words[0].startswith("/") or set(words[0]) & set("*?["):
        return ""
    return words[0].rstrip("/") + "/"


def with_parents(directory: str) -> Iterator[str]:
    """Yield *directory* and the directories above it, each with its slash, the root last."""
    yield directory
    yield from above(directory)


def _distinct(found: Iterable[list[LineScope]]) -> list[LineScope]:
    return list(dict.fromkeys(scope for scopes in found for scope in scopes))
