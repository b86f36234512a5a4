"""Which sections can meet in one request, in the order in which httpd merges them.

Requests are stood for by witnesses: folders and files that exist or that sections name, strings that expressions match, and names that no section
knows.  What a witness runs through is worked out exactly.  Manual: sections.html.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from typing import Final

from whimbrel.config.model import SectionKind
from whimbrel.octets import raw
from whimbrel.octets import text as as_text
from whimbrel.records import dataclass, field
from whimbrel.upgrade.access_control.overrides import Override, admits_nothing, merged
from whimbrel.upgrade.access_control.samples import of_regex, of_wildcards
from whimbrel.upgrade.access_control.sections import Found, Unit, absolute, ancestors
from whimbrel.upgrade.estate import Estate, Statement

_NEUTRAL: Final = "other"
_MOST_FILES: Final = 4000
"""Of those that exist below one folder."""
_MOST_ON_DISK: Final = 200_000
"""Of those that exist, over all servers."""
_MOST_WITNESSES: Final = 20000
"""Requests that no section names whole, for one server."""
_MOST_UNSURE: Final = 1_000_000
"""The same over all servers."""
_FILES: Final = frozenset({SectionKind.FILES, SectionKind.FILES_MATCH})
_LOCATIONS: Final = frozenset({SectionKind.LOCATION, SectionKind.LOCATION_MATCH})


@dataclass(frozen=True, slots=True)
class Chain:
    """The sections with lines about access that one request runs through, outermost first.

    *url* and *path* are a witness's ("" where there is none); *sure*: the witness exists or a section names it whole; *overrides* are what
    AllowOverride admits in each of the chain's .htaccess files; *given* says under which of the open conditions it is run through.
    """

    units: tuple[Unit, ...]
    url: str = ""
    path: str = ""
    sure: bool = True
    overrides: tuple[tuple[Unit, Override], ...] = ()
    given: str = ""

    @property
    def last(self) -> Unit:
        """The innermost section."""
        return self.units[-1]


@dataclass(frozen=True, slots=True)
class _Witness:
    folder: str
    name: str
    sure: bool
    url: str | None = None


@dataclass(slots=True)
class Bounds:
    """What is left of the work that may go into witnesses; *hit* says in words where it wasn't enough.

    *walked* has the folders and files below each folder that servers map, so that what they share is looked at once.
    """

    on_disk: int = _MOST_ON_DISK
    unsure: int = _MOST_UNSURE
    hit: dict[str, None] = field(default_factory=dict)
    walked: dict[str, tuple[list[str], list[tuple[str, str]]]] = field(default_factory=dict)


class _Server:
    """What one server maps and which sections hold for it."""

    def __init__(self, estate: Estate, found: Found, server: Statement | None) -> None:
        self.main = server is None
        key = found.key(server)
        shared, own = found.of_server(server)
        units = shared + own
        self.root: str = found.roots.get(key) or found.roots.get(0) or absolute(estate.root, "htdocs")
        inherited = [] if self.main else found.aliases.get(0, [])
        self.maps: list[tuple[str, str]] = [*found.aliases.get(key, []), *inherited, ("/", self.root.rstrip("/") + "/")]
        plain = [u for u in units if u.kind is SectionKind.DIRECTORY and u.regex is None]
        self.plain = sorted(plain, key=lambda u: u.components)
        self.matched = [u for u in units if u.kind in (SectionKind.DIRECTORY, SectionKind.DIRECTORY_MATCH) and u.regex is not None]
        self.htaccess = {u.folder: u for u in units if u.kind is SectionKind.HTACCESS}
        self.files = [u for u in units if u.kind in _FILES]
        self.all_locations = [u for u in units if u.kind in _LOCATIONS and not u.proxy]
        self.locations = [u for u in self.all_locations if u.lines]
        self.proxies = [u for u in units if u.proxy]
        self.own = set(own) if server is not None else {u for u in units if u.server is None}
        self.speaking = {u for u in units if u.lines} | {u.outer for u in units if u.lines and u.outer is not None}
        self.known: dict[str, None] = {}
        self._folders: dict[str, tuple[list[Unit], list[tuple[Unit, Override]]]] = {}

    # mapping ---------------------------------------------------------------------------------------
    def path_of(self, url: str) -> str:
        """The file that a URL path is mapped to."""
        for prefix, target in self.maps:
            if url.startswith(prefix) and (prefix.endswith("/") or url[len(prefix):len(prefix) + 1] in ("", "/")):
                return target + url[len(prefix):]
        return self.root + url

    def url_of(self, path: str) -> str | None:
        """A URL path that is mapped to *path*."""
        for prefix, target in self.maps:
            if path.startswith(target):
                return prefix + path[len(target):]
            if path + "/" == target:
                return prefix.rstrip("/") or "/"
        return None

    # matching --------------------------------------------------------------------------------------
    def walk_folder(self, folder: str) -> tuple[list[Unit], list[tuple[Unit, Override]]]:
        """The <Directory> sections and .htaccess files on the way to *folder*, in the order of merging."""
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._walk(folder)
        return known

    def _walk(self, folder: str) -> tuple[list[Unit], list[tuple[Unit, Override]]]:
        units: list[Unit] = []
        overrides: list[tuple[Unit, Override]] = []
        override: Override = None
        done = 0
        for depth, here in enumerate(ancestors(folder), 1):
            while done < len(self.plain) and self.plain[done].components <= depth:
                unit = self.plain[done]
                if unit.matches(here):
                    units.append(unit)
                    override = merged(override, unit.overrides)
                done += 1
            file = self.htaccess.get(here)
            if file is not None and not admits_nothing(override):
                units.append(file)
                overrides.append((file, override))
        return units, overrides

    def chain(self, witness: _Witness) -> Chain:
        """The chain of a request for the witness."""
        path = witness.folder + witness.name
        bare = not witness.name and witness.url is not None and not witness.url.endswith("/")  # a folder that is asked for without its slash
        units, overrides = self.walk_folder(path + "/" if path + "/" in self.known else witness.folder)
        directories = set(units)
        found = [*units, *(u for u in self.matched if u.matches(path.rstrip("/") if bare else path))]
        inside = directories.union(found)
        nested = sorted((u for u in self.files if u.outer is not None and u.outer in inside), key=lambda u: found.index(u.outer))  # type: ignore[arg-type]
        name = path.rstrip("/").rpartition("/")[2] if bare else witness.name
        for unit in [*(u for u in self.files if u.outer is None), *nested]:
            if name and unit.matches(name):
                found.append(unit)
        url = self.url_of(path) if witness.url is None else witness.url
        if url is not None:
            found += [u for u in self.locations if u.matches(url)]
        return Chain(tuple(u for u in found if u.lines), url or "", path, witness.sure, tuple((u, o) for u, o in overrides if u in self.speaking))


def chains(estate: Estate, found: Found, bounds: Bounds | None = None, without: Container[Statement] = ()) -> list[Chain]:
    """All distinct chains, sure ones first; a chain that several witnesses show is sure when one of them is.  Servers in *without* are left out."""
    bounds = bounds or Bounds()
    best: dict[tuple[object, object], Chain] = {}
    for number, statement in enumerate([None, *found.servers]):
        estate.step("which sections meet", number, len(found.servers) + 1)
        if statement is not None and statement in without:
            continue
        server = _Server(estate, found, statement)
        for chain in _chains(server, bounds):
            known = best.get((chain.units, chain.overrides))
            if chain.units and (known is None or (chain.sure and not known.sure)):
                best[chain.units, chain.overrides] = chain
    return sorted(best.values(), key=lambda chain: not chain.sure)


def admitted(estate: Estate, found: Found) -> dict[Unit, Override]:
    """What AllowOverride admits in each .htaccess file that is read at all."""
    server = _Server(estate, found, None)
    return {unit: override for folder in server.htaccess for unit, override in server.walk_folder(folder)[1]}


def _chains(server: _Server, bounds: Bounds) -> Iterator[Chain]:
    count = 0
    for witness in _witnesses(server, bounds):
        yield server.chain(witness)
        count += 1
        bounds.unsure -= not witness.sure
        if not witness.sure and (count > _MOST_WITNESSES or bounds.unsure < 0):
            bounds.hit["not every folder was tried with every name that sections match"] = None
            break
    yield from _proxied(server)


# witnesses ------------------------------------------------------------------------------------------
def _witnesses(server: _Server, bounds: Bounds) -> Iterator[_Witness]:
    folders, files = _on_disk(server, bounds)
    server.known = folders
    for unit in [*server.plain, *server.htaccess.values()]:
        if server.main or unit in server.own or any(f.startswith(target) for f in _folders_of(unit) for _, target in server.maps):
            folders.update(dict.fromkeys(_folders_of(unit)))
    folders.update(dict.fromkeys(target if target.endswith("/") else target.rpartition("/")[0] + "/" for _, target in server.maps))
    yield from _urls(server, folders)
    yield from (_Witness(folder, name, True) for folder, names in files.items() for name in names)
    for folder in folders:
        yield _Witness(folder, _NEUTRAL, True)
        yield _Witness(folder, "", True)
        if folder != "/" and (bare := server.url_of(folder.rstrip("/"))) is not None:
            yield _Witness(folder, "", True, bare)
    for folder in list(folders):
        for unit in server.files:
            if unit.outer is not None and unit.outer.kind is not SectionKind.DIRECTORY_MATCH and folder in _folders_of(unit.outer):
                yield from (_Witness(folder, name, True) for name in _names_of(unit))
    names = dict.fromkeys(name for unit in [*server.files, *server.matched, *server.locations] for name in _names_of(unit))
    yield from (_Witness(folder, name, False) for folder in folders for name in names)


def _folders_of(unit: Unit) -> list[str]:
    if unit.kind is SectionKind.HTACCESS:
        return [unit.folder]
    if unit.fnmatch:
        return of_wildcards(unit.pattern, by_segment=True)
    return [unit.pattern] if unit.kind is SectionKind.DIRECTORY and unit.regex is None else []


def _texts_of(unit: Unit) -> list[str]:
    """Strings that the section's pattern matches."""
    if unit.regex is not None:
        return of_regex(unit.pattern)
    if unit.fnmatch:
        return of_wildcards(unit.pattern, by_segment=unit.kind is not SectionKind.FILES)
    return [unit.pattern]


def _names_of(unit: Unit) -> list[str]:
    return [name for text in _texts_of(unit) if (name := text.rpartition("/")[2])]


def _urls(server: _Server, folders: dict[str, None]) -> Iterator[_Witness]:
    """Witnesses of <Location> and <DirectoryMatch>; the folders that they lead to are added to *folders*."""
    for unit in server.locations:
        for text in _texts_of(unit):
            url = text if text.startswith("/") else "/" + text
            forms = (url, url.rstrip("/") + "/" + _NEUTRAL, url.rstrip("/") + "/") if unit.regex is None else (url,)
            for form in forms:
                path = server.path_of(form)
                folder, _, name = path.rpartition("/")
                yield _Witness(folder + "/", name, unit.regex is None, form)
                folders.setdefault(folder + "/")
    for unit in server.matched:
        for text in _texts_of(unit):
            path = text if text.startswith(server.root) else server.root + ("" if text.startswith("/") else "/") + text
            for form in (path, path.rstrip("/") + "/"):
                if unit.matches(form):
                    folder, _, name = form.rpartition("/")
                    yield _Witness(folder + "/", name, False)
                    folders.setdefault(folder + "/")


def _on_disk(server: _Server, bounds: Bounds) -> tuple[dict[str, None], dict[str, list[str]]]:
    """Folders and files that exist under what the server maps."""
    folders: dict[str, None] = {}
    files: dict[str, list[str]] = {}
    for top in dict.fromkeys(target.rstrip("/") for _, target in server.maps):
        if bounds.on_disk < 0:
            bounds.hit[f"of the files below document roots and aliases only {_MOST_ON_DISK} were tried"] = None
            break
        below, names = bounds.walked.get(top) or _walked(top, bounds)
        folders.update(dict.fromkeys(below))
        for folder, name in names:
            files.setdefault(folder, []).append(name)
        bounds.on_disk -= len(names) + len(below)
    return folders, files


def _walked(top: str, bounds: Bounds) -> tuple[list[str], list[tuple[str, str]]]:
    folders: list[str] = []
    files: list[tuple[str, str]] = []
    for here, _below, names in os.walk(raw(top)):
        folder = as_text(here).rstrip("/") + "/"
        folders.append(folder)
        files += [(folder, as_text(name)) for name in names]
        if len(folders) + len(files) > _MOST_FILES:
            bounds.hit[f"of the files below {top or '/'} only {_MOST_FILES} were tried"] = None
            break
    bounds.walked[top] = folders, files
    return folders, files


def _proxied(server: _Server) -> Iterator[Chain]:
    """Requests that go to a back end: <Proxy> sections, then <Location>."""
    urls: Iterable[str] = dict.fromkeys(text for unit in server.proxies for text in _texts_of(unit))
    for url in urls:
        found = tuple(u for u in server.proxies if _proxy_matches(u, url))
        yield Chain(tuple(u for u in found if u.lines), url, "", True)
        for unit in server.all_locations:
            if any(child.name == "proxypass" for child in (unit.statement.children if unit.statement else ())):
                yield Chain(tuple(u for u in (*found, unit) if u.lines), unit.pattern, "", True)


def _proxy_matches(unit: Unit, url: str) -> bool:
    return unit.regex.search(url) is not None if unit.regex is not None else "*" in unit.pattern or url.startswith(unit.pattern)
