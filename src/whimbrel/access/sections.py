"""Sections of a configuration as requests match them, and the paths of each server; plain data without source
text."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from typing import Generic, TypeVar

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.regex import Regex
from whimbrel.config.model import SectionKind

Override = frozenset[str] | None
"""The classes of AllowOverride in lower case (authconfig, limit, fileinfo, indexes, options); None: no
AllowOverride applies."""


def is_htaccess_ignored(override: Override) -> bool:
    """Return True if .htaccess files are not read."""
    return override is not None and not override


@dataclass(slots=True, eq=False)
class RequestSection:
    """One section or .htaccess file that can apply to a request; compared by identity.

    Attributes:
        kind: the kind of section; HTACCESS for a .htaccess file.
        pattern: the argument as httpd stores it; the path of a directory ends in ``/``.
        regex: the compiled pattern of a Match section.
        fnmatch: the pattern has wildcards.
        directory: the directory of a .htaccess file, with a slash at its end.
        linked: further directories of it, which links lead to, likewise.
        outer: the section or .htaccess file that a <Files> section stands in.
        server: the virtual host that holds the section, None for the main server.
        is_proxy: the section is a <Proxy> or <ProxyMatch>.
        is_malformed: the regular expression does not compile; the section applies to no request.
    """

    kind: SectionKind
    pattern: str = ""
    regex: Regex | None = None
    fnmatch: bool = False
    directory: str = ""
    linked: tuple[str, ...] = ()
    outer: RequestSection | None = None
    server: object = None
    is_proxy: bool = False
    is_malformed: bool = False

    @property
    def in_main_server(self) -> bool:
        """Return True if the section belongs to every server."""
        return self.server is None

    @property
    def has_lines(self) -> bool:
        """Return True if the section has lines about access."""
        return False

    @property
    def has_proxy_pass(self) -> bool:
        """Return True if a ProxyPass line stands in the section."""
        return False

    @property
    def has_overrides(self) -> bool:
        """Return True if an AllowOverride line stands in the section."""
        return False

    def merge_override(self, override: Override) -> Override:
        """Return *override* with the AllowOverride lines of the section merged."""
        return override

    @property
    def components(self) -> int:
        """The number of path components: <Directory> sections are merged in this order."""
        return 0 if self.pattern == "/" else self.pattern.count("/")

    @property
    def expression(self) -> Regex | None:
        """The pattern as an expression that is searched; None for a section of one name or path."""
        if self.is_malformed or self.regex is not None:
            return self.regex
        if self.fnmatch:
            return compile_fnmatch(self.pattern, by_segment=self.kind is not SectionKind.FILES)
        return None

    def matches(self, text: str) -> bool:
        """Return True if the pattern matches *text*.

        The kind decides what *text* is: a directory with its slash, a path, a file name or a URL path.
        """
        if self.is_malformed:
            return False
        expression = self.expression
        if expression is not None:
            return expression.search(text) is not None
        if self.kind is SectionKind.LOCATION:
            return is_below(self.pattern, text)
        return self.pattern == text


def is_below(prefix: str, url: str) -> bool:
    return url.startswith(prefix) and (
        prefix.endswith("/") or len(url) == len(prefix) or url[len(prefix)] == "/"
    )


S = TypeVar("S", bound=RequestSection)
V = TypeVar("V")
"""A virtual host, compared by identity."""


def _always(_server: object, _directory: str, _others: object) -> bool:
    return True


@dataclass(slots=True)
class SectionInventory(Generic[S, V]):
    """All sections of one configuration in reading order, and the paths that each server maps.

    Attributes:
        servers: the virtual hosts.
        roots: the DocumentRoot of each server, of the main server by None.
        host_roots: the paths with `%` specifiers of VirtualDocumentRoot, likewise; they take the place of
            the DocumentRoot. "": the server has DocumentRoot, whatever the main server has.
        aliases: the pairs of URL prefix and path of each server, likewise.
        proxied: the pairs of URL path and URL of a back end of each server, likewise.
        rewritten: patterns of the URL paths of each server, likewise, that lines may keep from a back end:
            rules of rewriting, and exceptions of ProxyPass; "" for all.
        is_served_by: whether a server may serve a directory; the main server also stands for each host that
            is not one of those given.
    """

    sections: list[S] = field(default_factory=list)
    servers: list[V] = field(default_factory=list)
    roots: dict[V | None, str] = field(default_factory=dict)
    host_roots: dict[V | None, str] = field(default_factory=dict)
    aliases: dict[V | None, list[tuple[str, str]]] = field(default_factory=dict)
    proxied: dict[V | None, list[tuple[str, str]]] = field(default_factory=dict)
    rewritten: dict[V | None, list[str]] = field(default_factory=dict)
    is_served_by: Callable[[V | None, str, Container[V | None]], bool] = _always
    _groups: dict[object, list[S]] = field(default_factory=dict, repr=False)

    def host_root_of(self, server: V | None) -> str:
        """Return the VirtualDocumentRoot of the server, its own or that of the main server; "" for none."""
        own = self.host_roots.get(server)
        return self.host_roots.get(None, "") if own is None else own

    def of_server(self, server: V | None) -> tuple[list[S], list[S]]:
        """Return the sections of every server, with .htaccess files, and the sections of *server* alone."""
        if not self._groups:
            self._groups[None] = [section for section in self.sections if section.in_main_server]
            for section in self.sections:
                if not section.in_main_server:
                    self._groups.setdefault(section.server, []).append(section)
        return self._groups[None], [] if server is None else self._groups.get(server, [])


def absolute_path(root: str, path: str, *, keep_slash: bool = False) -> str:
    """Return *path* below the server root without dot segments; *keep_slash* keeps a slash at its end."""
    joined = path if path.startswith("/") else os.path.join(root or "/", path)
    clean = os.path.normpath(joined)
    if clean.startswith("//"):  # POSIX gives two slashes at the beginning a meaning of their own
        clean = clean[1:]
    return clean + "/" if keep_slash and path.endswith("/") and clean != "/" else clean


def slashed(path: str) -> str:
    """Return the path with one slash at its end."""
    return path.rstrip("/") + "/"


def ancestors(directory: str) -> Iterator[str]:
    """Yield the directories from the root to *directory*, each with a slash at its end."""
    at = 0
    while (at := directory.find("/", at) + 1) > 0:
        yield directory[:at]
