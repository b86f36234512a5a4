"""Virtual hosts that differ in names, directories, networks and logs alone: one answers for the others.

Two pairs of servers have one signature if their lines on both sides are equal once the host name, its
directory and disjoint networks are replaced by placeholders, and the same shared sections apply to both.
What cannot be shown to be equal stays in the signature as it is written.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from ipaddress import IPv4Network, ip_network
from itertools import chain
from typing import Final

from whimbrel.access.samples import regex_samples
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.model import Server
from whimbrel.verify.config_lines import ConfigLine, LineScope, ServedPaths, SideLines, key_of
from whimbrel.verify.derive.hosts import Entrance
from whimbrel.verify.derive.shared_scopes import SharedScopes

_LOGS: Final = frozenset(
    "errorlog customlog transferlog rewritelog rewriteloglevel loglevel scriptlog forensiclog".split()
)
"""Directives that no response depends on."""
_ACCESS: Final = frozenset(("require", "allow", "deny"))
_NAMES_HOST: Final = re.compile(
    r"(?i)http_host|server_name|\bhost\b|virtual(documentroot|scriptalias)|\blua|\bmatch_"
    r"|document_root|path_translated|(script_|request_)?filename\}(?! +!?-\w\b)"
)
"""Texts that tell hosts apart by names or directories. Tests for a file do not: what exists is in the
signature.
"""
_IN_HOST_NAMES: Final = "host server_name virtual lua match_ document_root path_translated filename}".split()
"""Of which one stands, in lower case, in each text that `_NAMES_HOST` finds."""
_NAMES_CLIENT: Final = re.compile(r"(?i)remote_(addr|host)|client_(addr|ip)|ipmatch|-r\b|remoteip|\blua")
_IN_CLIENT_NAMES: Final = ("remote", "client_", "ipmatch", "-r", "lua")
"""The same for `_NAMES_CLIENT`."""
_NETWORK: Final = re.compile(r"(?<![\w.:/])\d+(?:\.\d+){0,3}(?:/\d+(?:\.\d+){3}|/\d+)?(?![\w.:/])")
_IN_WORD: Final = re.compile(r"[\w-]").match
_NEUTRAL: Final = "whimbrel-probe/"
_MAX_SAMPLES: Final = 4
_MAX_ENTRIES: Final = 50
"""Entries of an existing directory that are compared; larger ones are not taken for equal."""


class EqualHosts:
    """Signatures of pairs of servers; equal signatures: the answers differ in the same way."""

    def __init__(self, sides: tuple[SideLines, SideLines], shared: tuple[SharedScopes, SharedScopes]) -> None:
        self.sides = sides
        self.shared = shared
        texts = ["\n".join(map(_text, lines.of_host(("", 0)))) for lines in sides]
        old, new = (lines.side for lines in sides)
        self._is_shared_equal = (
            texts[0] == texts[1]
            and old.dialect is new.dialect
            and old.loaded.root == new.loaded.root
            and old.options.overlay == new.options.overlay
        )
        general = "\n".join(_text(scope) for each in shared for scope in each.general)
        self._has_host = _names_host(general)
        self._has_client = _names_client(general)
        self._networks = list(_networks(scope for each in shared for scope in each.general))
        self._patterns = [list(_patterns(each.general)) for each in shared]
        self._access_files = {
            scope.path for lines in sides for scope in lines.scopes if scope.kind == "htaccess"
        }
        self._names = {os.path.basename(path) for path in self._access_files}

    def signature(self, servers: Sequence[Server], routes: Iterable[Entrance]) -> object:
        """Return the signature of a pair of virtual hosts that *routes* lead to."""
        served = [lines.served(server) for lines, server in zip(self.sides, servers, strict=True)]
        own = [lines.of_host(key_of(server)) for lines, server in zip(self.sides, servers, strict=True)]
        pairs = list(zip(self.shared, served, strict=True))
        inside = [
            [*scopes, *each.inside(paths.tops)] for scopes, (each, paths) in zip(own, pairs, strict=True)
        ]
        around = [each.around(paths.tops) for each, paths in pairs]
        texts = ["\n".join(map(_text, scopes)) for scopes in inside]
        if self._is_shared_equal and texts[0] == texts[1] and served[0].tops == served[1].tops:
            return "unchanged"
        name = servers[0].name or ""
        replaced = _Replaced(name, served[0].root)
        above = ["\n".join(map(_text, scopes)) for scopes in around]
        joined = "\n".join((*texts, *above))
        if not (self._has_client or _names_client(joined)):
            others = [*self._networks, *_networks(chain(*around))]
            replaced.use_networks(list(_networks(chain(*inside))), others)
        has_host = self._has_host or _names_host(joined) or any(map(_rewrites, chain(*around)))
        return (
            name if has_host else "",
            tuple(map(replaced, texts)),
            tuple(above),
            tuple(tuple(map(replaced, paths.tops)) for paths in served),
            tuple(self._shape(number, paths) for number, paths in enumerate(served)),
            tuple((replaced(route.host), route.address, route.port, route.is_tls) for route in routes),
        )

    def _shape(self, number: int, paths: ServedPaths) -> object:
        """Return which shared patterns match the directories of *paths*, and what exists in them."""
        found: list[object] = []
        for top in paths.tops:
            found += [matches(top) for matches in self._patterns[number]]
            found.append(self._contents(number, top))
        return tuple(found)

    def _contents(self, number: int, top: str) -> object:
        """Return the names below a directory with digests of its .htaccess files; () for a missing one."""
        disk = self.sides[number].side.loaded.disk
        found: list[object] = []
        for where, below, names in disk.walk(top):
            below.sort()
            directory = where.rstrip("/") + "/"
            for name in sorted(map(to_text, (*names, *below))):
                path = directory + name
                place = disk.openable(path) if name in self._names else ""
                digest = ""
                if place in self._access_files:
                    digest = hashlib.sha256(read_regular(to_bytes(place))).hexdigest()
                found.append((path[len(top) :], digest))
            if len(found) > _MAX_ENTRIES:
                return top
        return tuple(found)


class _Replaced:
    """Replaces what is special to a host: its name, its directory, its networks."""

    def __init__(self, name: str, root: str) -> None:
        self._words: dict[str, str] = {}
        if "." in name:
            self._words[name] = "@name"
            self._words[re.escape(name)] = "@name-as-pattern"
        label, root = name.partition(".")[0], root.rstrip("/")
        if label:
            self._words[f"authname {label}"] = "authname @label"
            self._words[f'authname "{label}"'] = "authname @label"
        parts = root.split("/")
        if label and label in parts:
            root = "/".join(parts[: parts.index(label) + 1])
        if root.count("/") > 1:
            self._words[root] = "@directory"

    def use_networks(self, own: list[tuple[str, IPv4Network]], shared: list[tuple[str, IPv4Network]]) -> None:
        """Replace the networks *own*, too, that overlap none of *shared*, if no two of them overlap."""
        others = [*(network for _, network in shared), _LOOPBACK, _SAMPLE]
        texts = {text: one for text, one in own if not any(one.overlaps(other) for other in others)}
        networks = list(texts.values())
        remaining = [one for text, one in own if text not in texts]
        for number, network in enumerate(networks):
            if any(network.overlaps(other) for other in (*networks[:number], *remaining)):
                return
        for number, (text, network) in enumerate(texts.items()):
            self._words[text] = f"@network{number}/{network.prefixlen}"

    def __call__(self, text: str) -> str:
        """Return *text* with the words replaced, the longest of several that begin at one place.

        A regex of all words does the same, and would be compiled for each host alone.
        """
        found = [(at, -len(word), word) for word in self._words for at in _places(word, text)]
        done = 0
        parts: list[str] = []
        for at, _, word in sorted(found):
            if at >= done:
                parts += (text[done:at], self._words[word])
                done = at + len(word)
        return "".join((*parts, text[done:]))


def _places(word: str, text: str) -> Iterator[int]:
    """Yield where *word* stands in *text* with no letter, digit, underscore or hyphen beside it."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_IN_WORD(text[at - 1 : at]) or _IN_WORD(text[end : end + 1])):
            yield at
        at = text.find(word, at + 1)


def _names_host(text: str) -> bool:
    """Return True if `_NAMES_HOST` finds something; it takes ten times as long as the words in it."""
    low = text.lower()
    return any(word in low for word in _IN_HOST_NAMES) and _NAMES_HOST.search(text) is not None


def _names_client(text: str) -> bool:
    """Return the same for `_NAMES_CLIENT`."""
    low = text.lower()
    return any(word in low for word in _IN_CLIENT_NAMES) and _NAMES_CLIENT.search(text) is not None


_LOOPBACK: Final = IPv4Network("127.0.0.0/8")
_SAMPLE: Final = IPv4Network("192.0.2.0/24")
"""The network of the client of all derived probes."""


def _text(scope: LineScope) -> str:
    lines = (f"{line.container}{line.name} {line.args}" for line in scope.lines if line.name not in _LOGS)
    around = scope.outer.written if scope.outer is not None else ""
    return "\n".join((f"{around} {scope.kind} {scope.args}", *lines))


def _rewrites(scope: LineScope) -> bool:
    """Return True if rules of *scope* see the path below it, in which the directory of a host is a part."""
    return any(line.name == "rewriterule" for line in scope.lines)


def _networks(scopes: Iterable[LineScope]) -> Iterator[tuple[str, IPv4Network]]:
    for scope in scopes:
        for line in scope.lines:
            if line.name in _ACCESS:
                for text in _NETWORK.findall(line.args):
                    address, slash, mask = text.partition("/")
                    count = address.count(".") + 1
                    full = address + ".0" * (4 - count) + "/" + (mask if slash else str(8 * count))
                    try:
                        yield text, IPv4Network(ip_network(full, strict=False))
                    except ValueError:
                        continue


def _patterns(scopes: Iterable[LineScope]) -> Iterator[Callable[[str], object]]:
    """Yield for each pattern of directories in *scopes* a function that says how it fits a directory."""
    for scope in scopes:
        words = ConfigLine("", scope.args, "", 0, scope).words()
        if scope.kind in ("directory", "directorymatch") and words:
            is_regex = scope.kind == "directorymatch" or words[0] == "~"
            yield partial(_fits_regex if is_regex else _fits_wildcards, words[-1])


def _fits_regex(pattern: str, top: str) -> object:
    try:
        search = re.compile(pattern).search
    except re.error:
        return top
    samples = (top + text.lstrip("/") for text in regex_samples(pattern)[:_MAX_SAMPLES])
    return tuple(bool(search(text)) for text in (top, top[:-1], top + _NEUTRAL, *samples))


def _fits_wildcards(pattern: str, top: str) -> object:
    """Return True if the first components of *pattern* match those of *top*."""
    pairs = zip(pattern.strip("/").split("/"), top.strip("/").split("/"), strict=False)
    return all(fnmatch.fnmatchcase(name, part) for part, name in pairs)
