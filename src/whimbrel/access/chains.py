"""Chains of sections: the sections that apply to one request, in the order in which httpd merges them.

Witnesses represent requests: directories and files that exist or that a section names, strings that match a
pattern, and a name that no section matches. The chain of a witness is exact. Manual: sections.html.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Final, Generic

from whimbrel.access.directory_walks import DirectoryWalks, SectionGroups
from whimbrel.access.host_roots import MAX_HOST_ROOTS, host_roots
from whimbrel.access.joint_names import JointNames, NamePattern
from whimbrel.access.samples import has_unknown_matches, regex_samples, wildcard_samples
from whimbrel.access.sections import (
    Override,
    RequestSection,
    S,
    SectionInventory,
    V,
    absolute_path,
    is_below,
    slashed,
)
from whimbrel.base.latin1 import to_text as as_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths
from whimbrel.config.model import SectionKind

PREFIX: Final = "(prefix)"
"""The URL path of a chain that is the beginning of others."""
_NEUTRAL: Final = "other"
_MAX_FILES: Final = 4000
"""The maximum number of existing directories and files below one directory."""
_MAX_ON_DISK: Final = 200_000
"""The maximum number of existing directories and files of all servers."""
_MAX_WITNESSES: Final = 20000
"""The maximum number of uncertain witnesses of one server: requests that no section names in full."""
_MAX_UNCERTAIN: Final = 1_000_000
"""The maximum number of uncertain witnesses of all servers."""
_MAX_PATH_INFOS: Final = 5
"""The maximum number of texts that are tried behind the URL path of a file."""
_MAX_BELOW: Final = 500
"""The maximum number of directories that a server's <DirectoryMatch> sections add below others."""
_MAX_NAMES: Final = 20
"""The maximum number of names that are tried below each URL path of `ServedRequests`."""
_IN_PATH: Final = "path"
"""The patterns of <DirectoryMatch> sections, which are searched in the path of the file."""
_IN_URL: Final = "url"
"""The patterns of <Location> sections."""


@dataclass(frozen=True, slots=True)
class SectionChain(Generic[S]):
    """The sections with lines about access that apply to one request, outermost first.

    Attributes:
        url: the URL path of a witness, "" if it has none.
        path: the file path of a witness, "" if it has none.
        is_certain: the witness exists, or a section names it in full.
        overrides: the AllowOverride classes of each .htaccess file of the chain.
        given: the values of the open conditions under which the chain applies, as text.
        aliases: the other URL paths of *path* with the same sections.
    """

    sections: tuple[S, ...]
    url: str = ""
    path: str = ""
    is_certain: bool = True
    overrides: tuple[tuple[S, Override], ...] = ()
    given: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def is_prefix(self) -> bool:
        """Return True for the beginning of other chains, which no witness has alone."""
        return self.url == PREFIX

    @property
    def last(self) -> S:
        """The innermost section."""
        return self.sections[-1]


@dataclass(frozen=True, slots=True)
class _Witness:
    directory: str
    name: str
    is_certain: bool
    url: str | None = None


@dataclass(slots=True)
class Bounds:
    """The remaining work that witnesses may cost; *exceeded* has a message for each bound that was hit.

    *walked* maps each directory that a server serves to the directories and files below it: servers share the
    walk. *disk* has the places of directories.
    """

    on_disk: int = _MAX_ON_DISK
    uncertain: int = _MAX_UNCERTAIN
    exceeded: dict[str, None] = field(default_factory=dict)
    walked: dict[str, tuple[list[str], list[tuple[str, str]]]] = field(default_factory=dict)
    disk: CopiedPaths = IN_PLACE

    def renewed(self) -> Bounds:
        """Return the bounds of another search on the same disk."""
        return Bounds(walked=self.walked, disk=self.disk)


class _ServerMap(Generic[S, V]):
    """The paths of one server and the sections that apply to it.

    *shared* are the groups of the sections that all servers share, which the servers do not copy.
    """

    def __init__(
        self,
        root: str,
        inventory: SectionInventory[S, V],
        server: V | None,
        shared: SectionGroups[S],
        bounds: Bounds,
    ) -> None:
        self.is_main = server is None
        own = SectionGroups(inventory.of_server(server)[1])
        self.shared = shared
        self.own = own
        self.path_sections = sorted(shared.plain + own.plain, key=lambda u: u.components)
        self.htaccess = shared.htaccess
        self.roots = self._roots(root, inventory, server, bounds)
        self.root = self.roots[0]
        inherited = [] if self.is_main else inventory.aliases.get(None, [])
        self.maps: list[tuple[str, str]] = [
            (prefix, target if prefix.endswith("/") else target.rstrip("/"))
            for prefix, target in (*inventory.aliases.get(server, []), *inherited)
        ]
        self.maps += [("/", top.rstrip("/") + "/") for top in self.roots]
        self.regex_sections = shared.regex_sections + own.regex_sections
        self._walks = DirectoryWalks(shared, own.plain)
        self.files = shared.files + own.files
        self.outermost_files = shared.outermost_files + own.outermost_files
        self.all_locations = shared.all_locations + own.all_locations
        self.locations = [u for u in self.all_locations if u.has_lines]
        self.proxies = shared.proxies + own.proxies
        self.own_sections = set(own.plain)
        passed = [] if self.is_main else inventory.proxied.get(None, [])
        self.proxied: list[tuple[str, str]] = [*inventory.proxied.get(server, []), *passed]
        rewritten = dict.fromkeys((server, None))
        self._rewritten = [text for one in rewritten for text in inventory.rewritten.get(one, [])]
        self.directories: dict[str, None] = {}
        patterns = [u for u in self.locations if u.regex is not None or u.fnmatch]
        ends = ["/" + name for section in patterns for name in _names_of(section)]
        self.path_infos = [*dict.fromkeys(["/" + _NEUTRAL, *ends])][:_MAX_PATH_INFOS] if patterns else []
        self.joint: dict[tuple[NamePattern, ...], JointNames] = {}

    def _roots(
        self, root: str, inventory: SectionInventory[S, V], server: V | None, bounds: Bounds
    ) -> list[str]:
        """Return the DocumentRoot of the server, or the directories of its VirtualDocumentRoot.

        A RewriteRule of the server may reach its DocumentRoot beside these.
        """
        plain = inventory.roots.get(server) or inventory.roots.get(None) or absolute_path(root, "htdocs")
        text = inventory.host_root_of(server)
        if not text:
            return [plain]
        named = [directory for u in self.path_sections for directory in _directories_of(u)]
        found = host_roots(text, bounds.disk, [*named, *self.htaccess], _NEUTRAL)
        if len(found) > MAX_HOST_ROOTS:
            bounds.exceeded[f"of the directories of {text} only {MAX_HOST_ROOTS} were tried"] = None
        return [*found, plain] if inventory.is_served_by(server, slashed(plain), ()) else found

    def is_relevant(self, section: S) -> bool:
        """Return True if the section has lines about access, or holds one that has."""
        return section in self.shared.relevant or section in self.own.relevant

    # mapping ---------------------------------------------------------------------------------------
    def path_of(self, url: str) -> str:
        """Return the file path that a URL path is mapped to."""
        for prefix, target in self.maps:
            if url.startswith(prefix) and (
                prefix.endswith("/") or url[len(prefix) : len(prefix) + 1] in ("", "/")
            ):
                return target + url[len(prefix) :]
        return self.root + url

    def paths_of(self, url: str) -> list[str]:
        """Return the file paths that a URL path is mapped to, one for each document root."""
        first = self.path_of(url)
        if len(self.roots) == 1 or first != self.root.rstrip("/") + url:
            return [first]
        return [top.rstrip("/") + url for top in self.roots]

    def _leads_to(self, url: str, path: str) -> bool:
        return self.path_of(url) == path or (len(self.roots) > 1 and path in self.paths_of(url))

    def url_of(self, path: str) -> str | None:
        """Return a URL path that is mapped to *path*, None if there is none."""
        for prefix, target in self.maps:
            url = prefix + path[len(target) :]
            if path.startswith(target) and self._leads_to(url, path):
                return url
            if path + "/" == target:
                return prefix.rstrip("/") or "/"
        return None

    def urls_of(self, path: str) -> list[str]:
        """Return all URL paths that are mapped to *path*."""
        urls = (prefix + path[len(target) :] for prefix, target in self.maps if path.startswith(target))
        return [url for url in urls if self._leads_to(url, path)]

    def aliases_of(self, path: str, url: str) -> Iterator[str]:
        """Yield the other URL paths that are mapped to *path* and match the same sections as *url*."""
        matching = [section for section in self.locations if section.matches(url)]
        for other in self.urls_of(path):
            if other != url and [section for section in self.locations if section.matches(other)] == matching:
                yield other

    # names -----------------------------------------------------------------------------------------
    def joint_names(self, directory: str, known: Sequence[str]) -> tuple[str, ...]:
        """Return a name for each set of sections that a file of *directory* can have, beside those of the
        names *known*."""
        patterns = self._name_patterns(directory)
        if len(patterns) < 2:
            return ()
        if patterns not in self.joint:
            self.joint[patterns] = JointNames(patterns)
        before = {_IN_PATH: directory, _IN_URL: self.url_of(directory) or ""}
        return self.joint[patterns].of(before, known)

    def _name_patterns(self, directory: str) -> tuple[NamePattern, ...]:
        """Return the patterns of sections about access that may match names in *directory*.

        A section without a pattern has one name, which is tried in any case.
        """
        around: dict[S, None] = dict.fromkeys(self._walks.of(directory)[0])
        around.update(dict.fromkeys(self.regex_sections))
        nested = [
            unit
            for outer in around
            for groups in (self.shared, self.own)
            for unit in groups.nested_files.get(outer, ())
        ]
        sections = (
            *(("", unit) for unit in (*self.outermost_files, *nested)),
            *((_IN_PATH, unit) for unit in self.regex_sections if self.is_relevant(unit)),
            *((_IN_URL, unit) for unit in self.locations),
        )
        found = [(kind, unit.expression) for kind, unit in sections if kind != "" or unit.has_lines]
        return tuple(dict.fromkeys(NamePattern(regex, kind) for kind, regex in found if regex is not None))

    def is_proxied(self, witness: _Witness) -> bool:
        """Return True if each request for the witness goes to a back end, where no section of a directory
        applies (mod_proxy: ProxyPass)."""
        if not self.proxied:
            return False
        url = self.url_of(witness.directory + witness.name) if witness.url is None else witness.url
        if url is None or not any(is_below(prefix, url) for prefix, _ in self.proxied):
            return False
        return not any(_may_match(pattern, url) for pattern in self._rewritten)

    # matching --------------------------------------------------------------------------------------
    def chain(self, witness: _Witness) -> SectionChain[S]:
        """Return the chain of a request for the witness."""
        path = witness.directory + witness.name
        # a directory requested without its trailing slash
        lacks_slash = not witness.name and witness.url is not None and not witness.url.endswith("/")
        sections, overrides = self._walks.of(
            path + "/" if path + "/" in self.directories else witness.directory
        )
        matching = [
            *sections,
            *(u for u in self.regex_sections if u.matches(path.rstrip("/") if lacks_slash else path)),
        ]
        nested = [
            u
            for outer in dict.fromkeys(matching)
            for groups in (self.shared, self.own)
            for u in groups.nested_files.get(outer, ())
        ]
        name = path.rstrip("/").rpartition("/")[2] if lacks_slash else witness.name
        for section in [*self.outermost_files, *nested]:
            if name and section.matches(name):
                matching.append(section)
        url = self.url_of(path) if witness.url is None else witness.url
        if url is not None:
            matching += [u for u in self.locations if u.matches(url)]
        return SectionChain(
            tuple(u for u in matching if u.has_lines),
            url or "",
            path,
            witness.is_certain,
            tuple((u, o) for u, o in overrides if self.is_relevant(u)),
            aliases=() if url is None else tuple(self.aliases_of(path, url)),
        )


def find_chains(
    root: str,
    inventory: SectionInventory[S, V],
    bounds: Bounds | None = None,
    excluded: Container[V] = (),
    report_progress: Callable[[str, int, int], None] = lambda _what, _done, _all: None,
) -> list[SectionChain[S]]:
    """Return all distinct chains, certain ones first.

    A chain of several witnesses is certain if one of them is. Virtual hosts in *excluded* are left out.
    """
    bounds = bounds or Bounds()
    best: dict[tuple[object, object], SectionChain[S]] = {}
    shared = SectionGroups(inventory.of_server(None)[0])
    for number, virtual_host in enumerate([None, *inventory.servers]):
        report_progress("which sections meet", number, len(inventory.servers) + 1)
        if virtual_host is not None and virtual_host in excluded:
            continue
        server = _ServerMap(root, inventory, virtual_host, shared, bounds)
        for chain in _chains(server, bounds):
            best_known = best.get((chain.sections, chain.overrides))
            if chain.sections and (best_known is None or (chain.is_certain and not best_known.is_certain)):
                best[chain.sections, chain.overrides] = chain
    return sorted(best.values(), key=lambda chain: not chain.is_certain)


class ServedRequests(Generic[S, V]):
    """The servers of one configuration, for the chains of requests below a directory or URL path."""

    def __init__(self, root: str, inventory: SectionInventory[S, V], bounds: Bounds) -> None:
        self._root = root
        self._inventory = inventory
        self._bounds = bounds.renewed()
        self._servers: list[tuple[V | None, _ServerMap[S, V], dict[str, list[str]], list[str]]] = []

    def below(
        self, directory: str, prefixes: Sequence[str] = ()
    ) -> Iterator[tuple[V | None, SectionChain[S]]]:
        """Yield each server with its chains of requests below *directory*, and below the URL *prefixes*.

        Chains of names that sections match and that do not exist there are uncertain.
        """
        for virtual_host, server, files, names in self._known_servers():
            for url in dict.fromkeys(_urls_below(server, directory, prefixes)):
                tops = server.paths_of(url)
                found_names = [name for top in tops for name in files.get(top.rstrip("/") + "/", [])]
                existing = found_names[:_MAX_NAMES]
                samples = dict.fromkeys(
                    (url or "/", *(f"{url}/{name}" for name in ("", _NEUTRAL, *existing)))
                )
                uncertain = dict.fromkeys(f"{url}/{name}" for name in names)
                for sample in samples | uncertain:
                    paths = server.paths_of(sample)
                    for path in [one for one in paths if one.startswith(directory)] or paths:
                        parent, _, name = path.rpartition("/")
                        chain = server.chain(_Witness(parent + "/", name, sample in samples, sample))
                        if chain.sections:
                            yield virtual_host, chain

    def _known_servers(self) -> list[tuple[V | None, _ServerMap[S, V], dict[str, list[str]], list[str]]]:
        """Return each server with its paths, its files by directory, and names that its sections match."""
        if not self._servers:
            shared = SectionGroups(self._inventory.of_server(None)[0])
            for virtual_host in (None, *dict.fromkeys(self._inventory.servers)):
                server = _ServerMap(self._root, self._inventory, virtual_host, shared, self._bounds)
                files = _find_directories(server, self._bounds)
                sections = [*server.files, *server.locations, *server.regex_sections]
                names = dict.fromkeys(name for section in sections for name in _names_of(section))
                self._servers.append((virtual_host, server, files, [*names][:_MAX_NAMES]))
        return self._servers


def _urls_below(server: _ServerMap[S, V], directory: str, prefixes: Sequence[str]) -> Iterator[str]:
    """Yield URL paths of *directory*, of maps below it, and of directories and maps below *prefixes*."""
    yield from prefixes
    for prefix, target in server.maps:
        url = prefix.rstrip("/")
        top = target.rstrip("/") + "/"
        if top.startswith(directory) or any(f"{url}/".startswith(given + "/") for given in prefixes):
            yield url
        elif directory.startswith(top):
            yield f"{url}/{directory[len(top) :]}".rstrip("/")
    for section in [*server.path_sections, *server.htaccess.values()]:
        for below in _directories_of(section):
            for given in prefixes:
                for path in map(slashed, server.paths_of(given)):
                    if below.startswith(path):
                        yield f"{given}/{below[len(path) :]}".rstrip("/")


def _chains(server: _ServerMap[S, V], bounds: Bounds) -> Iterator[SectionChain[S]]:
    count = 0
    for witness in _witnesses(server, bounds):
        if server.is_proxied(witness):
            continue
        yield server.chain(witness)
        count += 1
        bounds.uncertain -= not witness.is_certain
        if not witness.is_certain and (count > _MAX_WITNESSES or bounds.uncertain < 0):
            bounds.exceeded["not every directory was tried with every name that sections match"] = None
            break
    yield from _proxy_chains(server)


# witnesses ------------------------------------------------------------------------------------------
def _witnesses(server: _ServerMap[S, V], bounds: Bounds) -> Iterator[_Witness]:
    files = _find_directories(server, bounds)
    directories = server.directories
    yield from _urls(server, directories)
    for directory, file_names in files.items():
        for name in file_names:
            yield from _with_all_urls(server, directory, name, True)
    for directory, file_names in files.items():
        for name in file_names:
            yield from _with_path_info(server, directory, name, True)
    for directory in directories:
        yield _Witness(directory, _NEUTRAL, True)
        yield _Witness(directory, "", True)
        if directory != "/" and (bare := server.url_of(directory.rstrip("/"))) is not None:
            yield _Witness(directory, "", True, bare)
        for url in server.urls_of(directory + _NEUTRAL)[1:]:
            yield _Witness(directory, _NEUTRAL, True, url)
    for directory in list(directories):
        for section in server.files:
            if (
                section.outer is not None
                and section.outer.kind is not SectionKind.DIRECTORY_MATCH
                and directory in _directories_of(section.outer)
            ):
                for name in _names_of(section):
                    yield from _with_all_urls(server, directory, name, True)
    names = dict.fromkeys(
        name
        for section in [*server.files, *server.regex_sections, *server.locations]
        for name in _names_of(section)
    )
    for directory in directories:
        for name in (*names, *server.joint_names(directory, [*names, _NEUTRAL])):
            yield from _with_all_urls(server, directory, name, False)
            yield from _with_path_info(server, directory, name, False)
    for section in (*server.files, *server.regex_sections, *server.locations):
        if section.regex is not None and server.is_relevant(section) and has_unknown_matches(section.pattern):
            bounds.exceeded[f"no text was found that {section.pattern} matches"] = None
    for directory in _possible_directories(server, bounds) if server.files else ():
        for name in dict.fromkeys(name for section in server.files for name in _names_of(section)):
            yield _Witness(directory, name, False)
    if any(not joint.is_complete for joint in server.joint.values()):
        bounds.exceeded["not every name that several patterns of sections match together was tried"] = None


def _with_all_urls(
    server: _ServerMap[S, V], directory: str, name: str, is_certain: bool
) -> Iterator[_Witness]:
    """Yield the witness of a file, and those of its other URL paths if sections about names match it.

    Without such sections the file has the chains of any other name in its directory.
    """
    yield _Witness(directory, name, is_certain)
    if not server.locations or len(server.maps) < 2:
        return
    by_name = any(section.matches(name) for section in server.files)
    if by_name or server.regex_sections or server.path_infos:
        first, *others = server.urls_of(directory + name) or [""]
        yield from (_Witness(directory, name, is_certain, url) for url in others if url != first)


def _find_directories(server: _ServerMap[S, V], bounds: Bounds) -> dict[str, list[str]]:
    """Set the directories of the server: those that exist, and those that sections and maps name.

    Return the existing files by directory.
    """
    directories, files = _existing_paths(server, bounds)
    server.directories = directories
    targets = [target for _, target in server.maps]
    for section in server.path_sections:
        names = _directories_of(section)
        if (
            server.is_main
            or section in server.own_sections
            or any(name.startswith(target) for name in names for target in targets)
        ):
            directories.update(dict.fromkeys(names))
    directories.update(dict.fromkeys(server.shared.htaccess_below([""] if server.is_main else targets)))
    directories.update(
        dict.fromkeys(
            target if target.endswith("/") else target.rpartition("/")[0] + "/" for _, target in server.maps
        )
    )
    return files


def _with_path_info(
    server: _ServerMap[S, V], directory: str, name: str, is_certain: bool
) -> Iterator[_Witness]:
    """Yield witnesses of a file with more URL path behind it (PATH_INFO), if a <Files> section is about it:
    other <Location> sections may match there.
    """
    if not server.locations or not any(section.matches(name) for section in server.files):
        return
    url = server.url_of(directory + name)
    if url is None:
        return
    for rest in server.path_infos:
        yield _Witness(directory, name, is_certain, url + rest)
    for section in server.locations:
        if section.pattern.startswith(url + "/"):
            yield _Witness(directory, name, is_certain, section.pattern)


def _directories_of(section: RequestSection) -> list[str]:
    if section.kind is SectionKind.HTACCESS:
        return [section.directory]
    if section.fnmatch:
        return wildcard_samples(section.pattern, by_segment=True)
    return [section.pattern] if section.kind is SectionKind.DIRECTORY and section.regex is None else []


def _texts_of(section: RequestSection) -> list[str]:
    """Return strings that match the pattern of the section."""
    if section.regex is not None:
        return regex_samples(section.pattern)
    if section.fnmatch:
        return wildcard_samples(section.pattern, by_segment=section.kind is not SectionKind.FILES)
    return [section.pattern]


def _names_of(section: RequestSection) -> list[str]:
    return [name for text in _texts_of(section) if (name := text.rpartition("/")[2])]


def _urls(server: _ServerMap[S, V], directories: dict[str, None]) -> Iterator[_Witness]:
    """Yield witnesses of <Location> and <DirectoryMatch> sections, and add their directories to
    *directories*."""
    for section in server.locations:
        for text in _texts_of(section):
            url = text if text.startswith("/") else "/" + text
            replacements = (
                (url, url.rstrip("/") + "/" + _NEUTRAL, url.rstrip("/") + "/")
                if section.regex is None
                else (url,)
            )
            for replacement in replacements:
                for path in server.paths_of(replacement):
                    directory, _, name = path.rpartition("/")
                    yield _Witness(directory + "/", name, section.regex is None, replacement)
                    directories.setdefault(directory + "/")
    for section in server.regex_sections:
        for text in _texts_of(section):
            path = (
                text
                if text.startswith(server.root)
                else server.root + ("" if text.startswith("/") else "/") + text
            )
            for replacement in (path, path.rstrip("/") + "/"):
                if section.matches(replacement):
                    directory, _, name = replacement.rpartition("/")
                    yield _Witness(directory + "/", name, False)
                    directories.setdefault(directory + "/")


def _possible_directories(server: _ServerMap[S, V], bounds: Bounds) -> list[str]:
    """Return directories that a <DirectoryMatch> matches below those of other sections and .htaccess files.

    Such as the .svn/ of a checkout: httpd merges <Files> sections of the directories around it behind it.
    """
    named = [directory for section in server.path_sections for directory in _directories_of(section)]
    holders = [one for one in dict.fromkeys([*named, *server.htaccess]) if one in server.directories]
    found: dict[str, None] = {}
    for section in server.regex_sections:
        texts = ["/" + text.strip("/") + "/" for text in _texts_of(section)]
        for holder in holders if server.is_relevant(section) else ():
            paths = (holder.rstrip("/") + text for text in texts)
            path = next((one for one in paths if section.matches(one + _NEUTRAL)), None)
            if path is None or path in server.directories or path in found:
                continue
            if len(found) >= _MAX_BELOW:
                bounds.exceeded["not every directory was tried with every <DirectoryMatch>"] = None
                return [*found]
            found[path] = None
    return [*found]


def _existing_paths(server: _ServerMap[S, V], bounds: Bounds) -> tuple[dict[str, None], dict[str, list[str]]]:
    """Return the directories and files that exist below the paths of the server."""
    directories: dict[str, None] = {}
    files: dict[str, list[str]] = {}
    for top in dict.fromkeys(target.rstrip("/") for _, target in server.maps):
        if bounds.on_disk < 0:
            bounds.exceeded[
                f"of the files below document roots and aliases only {_MAX_ON_DISK} were tried"
            ] = None
            break
        below, names = paths_below(top, bounds)
        directories.update(dict.fromkeys(below))
        for directory, name in names:
            files.setdefault(directory, []).append(name)
        bounds.on_disk -= len(names) + len(below)
    return directories, files


def paths_below(top: str, bounds: Bounds) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the directories that exist at and below *top*, and the files in them as directory and name."""
    return bounds.walked.get(top) or _scan_directory(top, bounds)


def _scan_directory(top: str, bounds: Bounds) -> tuple[list[str], list[tuple[str, str]]]:
    directories: list[str] = []
    files: list[tuple[str, str]] = []
    for path, _below, names in bounds.disk.walk(top):
        directory = path.rstrip("/") + "/"
        directories.append(directory)
        files += [(directory, as_text(name)) for name in names]
        if len(directories) + len(files) > _MAX_FILES:
            bounds.exceeded[f"of the files below {top or '/'} only {_MAX_FILES} were tried"] = None
            break
    bounds.walked[top] = directories, files
    return directories, files


def _proxy_chains(server: _ServerMap[S, V]) -> Iterator[SectionChain[S]]:
    """Yield the chains of requests to back ends: <Proxy> sections, then <Location> sections."""
    if not server.all_locations and not server.proxies:
        return
    texts = [text for section in server.all_locations for text in _texts_of(section)]
    for prefix, back_end in dict.fromkeys(server.proxied):
        proxies = [u for u in server.proxies if _proxy_matches(u, back_end)]
        for url in dict.fromkeys((prefix, *(text for text in texts if is_below(prefix, text)))):
            locations = (u for u in server.all_locations if u.matches(url))
            yield SectionChain(tuple(u for u in (*proxies, *locations) if u.has_lines), url, "", True)
    urls: Iterable[str] = dict.fromkeys(text for section in server.proxies for text in _texts_of(section))
    for url in urls:
        matching = tuple(u for u in server.proxies if _proxy_matches(u, url))
        yield SectionChain(tuple(u for u in matching if u.has_lines), url, "", True)
        for section in server.all_locations:
            if section.has_proxy_pass:
                yield SectionChain(
                    tuple(u for u in (*matching, section) if u.has_lines), section.pattern, "", True
                )


def _may_match(pattern: str, url: str) -> bool:
    """Return True if a rule of rewriting with *pattern* may match *url*, whatever its flags are."""
    try:
        return compile_regex(pattern, ignore_case=True).search(url) is not None
    except RegexError:
        return True


def _proxy_matches(section: RequestSection, url: str) -> bool:
    return (
        section.regex.search(url) is not None
        if section.regex is not None
        else "*" in section.pattern or url.startswith(section.pattern)
    )
