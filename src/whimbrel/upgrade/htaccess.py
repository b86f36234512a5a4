"""The .htaccess files that 2.2 reads: below every document root, Alias target and <Directory> that is on this machine, where AllowOverride lets them.

2.2 admits everything where no AllowOverride speaks.  Which AllowOverride speaks is worked out as requests do it: the <Directory> sections of
the server and of its virtual hosts by the number of their components, those of expressions last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.config.execute import is_directory, root_relative
from whimbrel.octets import raw, text
from whimbrel.records import dataclass
from whimbrel.regex import Regex, RegexError, compile_regex
from whimbrel.syntax.words import getword
from whimbrel.upgrade.access_control.conditions import is_open
from whimbrel.upgrade.access_control.overrides import admits, merged
from whimbrel.upgrade.estate import Estate, Role, Statement, Unread
from whimbrel.wildcards import wildcards

MOST_FOLDERS: Final = 200_000
"""How many folders are looked at below one root."""
_TARGETS: Final = {"documentroot": 0, "alias": 1, "scriptalias": 1}
_WILD: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Area:
    """One <Directory> with an AllowOverride.

    *components* are those of its path, maybe with wildcards; *regex* is set for expressions, None *components* too.  *admits*: .htaccess files are
    read, with lines of the *classes*.  *host* is the virtual host it stands in.
    """

    components: tuple[str, ...] | None
    regex: Regex | None
    admits: bool
    host: Statement | None
    classes: frozenset[str] | None = None

    def fits(self, folder: tuple[str, ...]) -> bool:
        """Whether the section covers *folder*."""
        if self.regex is not None:
            return self.regex.search("/" + "/".join(folder)) is not None
        own = self.components or ()
        return len(own) <= len(folder) and all(map(_same, own, folder))

    def reaches_below(self, folder: tuple[str, ...]) -> bool:
        """Whether it may cover *folder* or something in it."""
        return self.regex is not None or all(map(_same, self.components or (), folder))


def _same(pattern: str, name: str) -> bool:
    return wildcards(pattern).search(name) is not None if _WILD & set(pattern) else pattern == name


class Overrides:
    """The AllowOverride lines of an estate: sections of plain paths by path, the others in a list."""

    def __init__(self, estate: Estate) -> None:
        self._plain: dict[tuple[str, ...], list[Area]] = {}
        self._others: list[Area] = []
        self._admitting: set[tuple[str, ...]] = set()  # every prefix of a plain path that admits
        lines = (line for line in _of_22(estate, "allowoverride") if not (is_open(line) and _is_none(line)))
        for area in filter(None, map(_area, lines)):
            if area.components is None or any(_WILD & set(part) for part in area.components):
                self._others.append(area)
                continue
            self._plain.setdefault(area.components, []).append(area)
            if area.admits:
                self._admitting.update(area.components[:count] for count in range(len(area.components) + 1))

    def admits(self, folder: str) -> bool:
        """Whether any server reads .htaccess files in *folder*."""
        return any(area is None or area.admits for area in self._speaking(folder))

    def take(self, folder: str, kind: str) -> bool:
        """Whether every server that reads .htaccess files in *folder* takes lines of the class *kind* there (``fileinfo``)."""
        return all(area is None or not area.admits or admits(area.classes, kind) for area in self._speaking(folder))

    def _speaking(self, folder: str) -> list[Area | None]:
        """For each server the section whose AllowOverride counts in *folder*, None where there is none."""
        parts = _parts(folder)
        fitting = [area for count in range(len(parts) + 1) for area in self._plain.get(parts[:count], ())]
        fitting += [area for area in self._others if area.fits(parts)]
        fitting.sort(key=lambda area: (area.regex is not None, len(area.components or ())))
        return [self._last(fitting, host) for host in {None, *(area.host for area in fitting)}]

    def _last(self, areas: list[Area], host: Statement | None) -> Area | None:
        speaking = [area for area in areas if area.host in (None, host)]
        return speaking[-1] if speaking else None

    def worth_walking(self, folder: str) -> bool:
        """Whether they may be read anywhere below *folder*."""
        parts = _parts(folder)
        return parts in self._admitting or self.admits(folder) or any(area.admits and area.reaches_below(parts) for area in self._others)


def _of_22(estate: Estate, name: str) -> Iterator[Statement]:
    """What 2.2 executes, whether or not 2.4 will."""
    return (line for line in estate.named(name, dead=True) if line.in_22 is not False)


def _is_none(line: Statement) -> bool:
    return [word.lower() for word in line.words()] == ["none"]


def _area(line: Statement) -> Area | None:
    section = next(line.enclosing("<directory", "<directorymatch"), None)
    if section is None:
        return None
    words = section.words()
    host = next(line.enclosing("<virtualhost"), None)
    reads, classes = not _is_none(line), merged(None, [line])
    if section.name == "<directorymatch" or words[:1] == ["~"]:
        try:
            return Area(None, compile_regex(words[-1] if words else ""), reads, host, classes)
        except RegexError:
            return None
    return Area(_parts(words[0]), None, reads, host, classes) if words else None


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def takes(estate: Estate, line: Statement, kind: str) -> bool:
    """Whether a line of the class *kind* may stand beside *line*, as far as AllowOverride goes."""
    if line.file.role is not Role.HTACCESS:
        return True
    known = estate.memo.get("overrides")
    if not isinstance(known, Overrides):
        known = estate.memo["overrides"] = Overrides(estate)
    return known.take(line.file.folder, kind)


def htaccess_files(estate: Estate, progress: Callable[[str], None], here: Callable[[str], str] = str) -> Iterator[tuple[str, str]]:
    """Path and folder of every file that some server reads; *here* says where a path of the configuration is on this machine,
    "" for nowhere."""
    overrides, names = Overrides(estate), _names(estate)
    seen: set[tuple[int, int]] = set()
    for path, line in _roots(estate).items():
        place = here(path).rstrip("/")
        if place and is_directory(place) and overrides.worth_walking(path):
            for found in _walk(place, seen, estate, line, progress):
                folder = path.rstrip("/") + found[len(place):]
                for name in names:
                    file = f"{found}/{name}"
                    if os.path.isfile(raw(file)) and overrides.admits(folder):
                        yield file, folder


def _names(estate: Estate) -> list[str]:
    """AccessFileName of all servers."""
    given = [name for line in _of_22(estate, "accessfilename") for name in line.words() if name and "/" not in name]
    return list(dict.fromkeys(given)) or [".htaccess"]


def _roots(estate: Estate) -> dict[str, Statement]:
    """The folders that URLs lead to, with the line that names each; those within another come with it."""
    found: dict[str, Statement] = {}
    for name, at in _TARGETS.items():
        for line in _of_22(estate, name):
            words = line.words()
            if len(words) > at and words[at]:
                found.setdefault(root_relative(estate.root or "/", words[at]), line)
    for line in _of_22(estate, "<directory"):
        path = getword(line.args)[0]
        if path[:1] == "/" and len(_parts(path)) > 1 and not _WILD & set(path):
            found.setdefault(root_relative("/", path), line)
    return {path: found[path] for path in sorted(found) if path.strip("/")}


def _walk(root: str, seen: set[tuple[int, int]], estate: Estate, line: Statement, progress: Callable[[str], None]) -> Iterator[str]:
    """*root* and the folders below it, each once, symbolic links to folders followed."""
    waiting, count = [root], 0
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(raw(folder))
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            below = sorted((text(entry.name) for entry in os.scandir(raw(folder)) if entry.is_dir()), reverse=True)
        except OSError as problem:
            estate.unread.append(Unread(line.place, f"{folder} can't be looked through: {os.strerror(problem.errno or 0)}"))
            continue
        count += 1
        if count > MOST_FOLDERS:
            estate.unread.append(Unread(line.place, f"more than {MOST_FOLDERS} folders below {root}: not all were looked through"))
            return
        progress(folder)
        yield folder
        waiting += [f"{folder.rstrip('/')}/{name}" for name in below if name not in (".git", ".svn", ".hg")]
