"""Hosts of VirtualDocumentRoot that the directories of a machine suggest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from whimbrel.base.fnmatch import simple_match
from whimbrel.config.copied_paths import CopiedPaths
from whimbrel.config.model import Server
from whimbrel.modules.mappers.mod_vhost_alias import VhostAliasServerConfig

MAX_MASS_HOSTS: Final = 3
_MAX_FILES: Final = 4
MAX_ENTRIES: Final = 50  # names of a directory that are tried
PARTS: Final = 3  # of a host name
_PIECE: Final = re.compile(r"%(-?[0-3])(\+?)(?:\.([1-9])\+?)?", re.ASCII)
_LABEL: Final = re.compile(r"[a-z0-9_-]+")
_OTHER: Final = "host"  # a part that the format does not use


class MassHost(NamedTuple):
    """A host name, its document root, and some names in it."""

    name: str
    root: str
    files: tuple[str, ...] = ()


def mass_hosts(server: Server, disk: CopiedPaths) -> list[MassHost]:
    """Return some hosts of VirtualDocumentRoot for which there are directories."""
    formatted = server.config(VhostAliasServerConfig).root
    text = (formatted or ("", False))[0]
    head, percent, tail = text.partition("%")
    if not percent:
        return []
    start, _, first = head.rpartition("/")
    segments = (first + percent + tail).split("/")
    names = [server.name, *server.names, *server.wild_names]
    found = [
        MassHost(_host_of(segments, path, names), f"{path}/") for path in _matching(start, segments, disk)
    ]
    named = [host for host in found if host.name][:MAX_MASS_HOSTS]
    return [host._replace(files=tuple(disk.names_in(host.root)[:_MAX_FILES])) for host in named]


def _matching(start: str, segments: list[str], disk: CopiedPaths) -> Iterator[str]:
    """Yield the directories that *segments* may stand for below *start*."""
    if not segments:
        yield start
        return
    segment = segments[0]
    names = disk.names_in(start) if _PIECE.fullmatch(segment) else [segment]
    for name in names[:MAX_ENTRIES]:
        if disk.is_directory(f"{start}/{name}"):
            yield from _matching(f"{start}/{name}", segments[1:], disk)


def _host_of(segments: list[str], path: str, names: Sequence[str]) -> str:
    """Return a host name that leads to *path*, "" if none is known: one that a pattern of *names*, those of
    the virtual host, admits; without patterns another one of three parts, or the name itself.
    """
    parts: dict[int, dict[int, str]] = {}
    for segment, entry in zip(segments, path.split("/")[-len(segments) :], strict=True):
        piece = _PIECE.fullmatch(segment)
        if piece is None:
            continue
        part = int(piece[1])
        has_rest = bool(piece[2])
        letter = piece[3]
        if letter is None and (part == 0 or has_rest):
            return _with_rest(part, entry)
        if part == 0 or not _LABEL.fullmatch(entry):
            return ""
        parts.setdefault(part, {})[int(letter or 0)] = entry
    own = next(filter(None, (_named(name.lower().split("."), parts) for name in names if name)), "")
    if own or any(map(_is_pattern, names)):
        return own
    of_three = {part if part > 0 else PARTS + 1 + part: letters for part, letters in parts.items()}
    return ".".join(_part(of_three.get(number, {})) for number in range(1, PARTS + 1))


def _named(labels: list[str], parts: dict[int, dict[int, str]]) -> str:
    """Return the name of *labels*, which may have wildcards, that has these *parts*; "" for none."""
    labels = [*labels]
    for part, letters in parts.items():
        at = part - 1 if part > 0 else len(labels) + part
        if not 0 <= at < len(labels):
            return ""
        label = labels[at]
        if _is_pattern(label):
            labels[at] = _part(letters)
            if not simple_match(labels[at], label):
                return ""
        elif any(
            text != (label[number - 1 : number] if number else label) for number, text in letters.items()
        ):
            return ""
    return ".".join(label.replace("*", _OTHER).replace("?", "x") for label in labels)


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _with_rest(part: int, entry: str) -> str:
    """Return a name of which *entry* is all (0), or the given part and those behind it (before it if it is
    negative)."""
    labels = entry.split(".")
    if not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdigit():
        return ""  # httpd refuses what ends as an address
    before = [_OTHER] * (part - 1)
    behind = [_OTHER] * (-part - 1)
    return ".".join([*before, entry, *behind])


def _part(letters: dict[int, str]) -> str:
    """Return a part of a name from its text (key 0), or from single letters by their numbers."""
    if 0 in letters:
        return letters[0]
    return "".join(letters.get(number, "x") for number in range(1, max(letters, default=0) + 1)) or _OTHER
