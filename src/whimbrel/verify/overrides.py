"""Overrides: the directories whose .htaccess files a side may read, by sections with AllowOverride."""

from __future__ import annotations

from typing import Final, NamedTuple

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.verify.config_lines import LineScope, SideLines

_WILD: Final = frozenset("*?[")
_NAMES: Final = frozenset(("allowoverride", "allowoverridelist"))


class _Section(NamedTuple):
    """A <Directory> section with AllowOverride.

    Attributes:
        parts: the components of its directory.
        position: among all sections.
        is_open: its last line permits something.
        may_open: one of its AllowOverride lines does.
    """

    parts: tuple[str, ...]
    position: int
    is_open: bool
    may_open: bool


class Overrides:
    """The sections of one side that decide about .htaccess files, by their directory."""

    def __init__(self, lines: SideLines) -> None:
        self._default = lines.side.dialect.override_default_all
        self._at: dict[tuple[str, ...], list[_Section]] = {}
        self._wild: list[_Section] = []
        self._above_open = set[tuple[str, ...]]()
        self._is_open_anywhere = False
        for position, scope in enumerate(lines.scopes):
            if scope.kind in ("directory", "directorymatch"):
                self._add(position, scope)

    def may_read(self, directory: str) -> bool:
        """Return True if the side may read a .htaccess file in *directory* or below it."""
        parts = _parts(directory)
        found = [one for count in range(len(parts) + 1) for one in self._at.get(parts[:count], ())]
        found += [one for one in self._wild if len(one.parts) <= len(parts) and _fits(one.parts, parts)]
        innermost = max(found, key=lambda one: (len(one.parts), one.position), default=None)
        is_open = self._default if innermost is None else innermost.is_open
        return (
            is_open
            or self._is_open_anywhere
            or parts in self._above_open
            or any(
                one.may_open and len(one.parts) > len(parts) and _fits(one.parts, parts) for one in self._wild
            )
        )

    def _add(self, position: int, scope: LineScope) -> None:
        lines = [line for line in scope.lines if line.name in _NAMES]
        if not lines:
            return
        is_open = [[word.lower() for word in line.words()] != ["none"] for line in lines]
        may_open = any(
            opens for opens, line in zip(is_open, lines, strict=True) if line.name == "allowoverride"
        )
        words = scope.words()
        if scope.kind == "directorymatch" or len(words) != 1:
            self._is_open_anywhere |= may_open
            return
        section = _Section(_parts(words[0]), position, is_open[-1], may_open)
        if _WILD & set(words[0]):
            self._wild.append(section)
            return
        self._at.setdefault(section.parts, []).append(section)
        if may_open:
            self._above_open.update(section.parts[:count] for count in range(len(section.parts)))


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _fits(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Return True if the components that both have match."""
    return all(map(_matches, pattern, parts))


def _matches(pattern: str, name: str) -> bool:
    return compile_fnmatch(pattern).search(name) is not None if _WILD & set(pattern) else pattern == name
