"""Properties as PROPFIND returns them: live ones, dead ones, those of locks and of the media type.

Prefixes are httpd's: ``D`` and ``lp1`` are DAV:, ``lp2`` httpd's own namespace, ``ns`` and ``g`` with a
number those of dead and unknown properties.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.engine.request import Request
from whimbrel.engine.specialized.rules import Classify, classifier
from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.locks import SUPPORTED, active_locks
from whimbrel.modules.dav.mod_dav.multistatus import linked_response, response
from whimbrel.modules.dav.mod_dav.provider import (
    HREF,
    FileText,
    LiveReader,
    MemberTexts,
    PropertyName,
    PropertySource,
    PropertyStore,
    PropertyTemplate,
    Resource,
)
from whimbrel.modules.dav.mod_dav.state import LockView
from whimbrel.modules.dav.mod_dav.xml_document import Document, XmlElement

DAV_URI: Final = "DAV:"
LIVE_URIS: Final = {"lp1": DAV_URI, "lp2": "http://apache.org/dav/props/"}
_ALL_LIVE: Final = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in LIVE_URIS.items())
_DAV_LIVE: Final = f' xmlns:lp1="{DAV_URI}"'
_PREFIXES: Final = {uri: prefix for prefix, uri in LIVE_URIS.items()}
_START: Final = "<D:propstat>\n<D:prop>\n"
_FOUND: Final = "</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n"
_MISSING: Final = "</D:prop>\n<D:status>HTTP/1.1 404 Not Found</D:status>\n</D:propstat>\n"
SUPPORTED_LOCK = "supportedlock"
LOCK_DISCOVERY = "lockdiscovery"
CONTENT_TYPE = "getcontenttype"
CONTENT_LANGUAGE = "getcontentlanguage"
RESOURCE_TYPE: Final = "resourcetype"
CORE: Final = (SUPPORTED_LOCK, LOCK_DISCOVERY, CONTENT_TYPE, CONTENT_LANGUAGE)
MAX_CLASSES: Final = 1024  # of names in one directory
OK_STATUS: Final = 200
# functions for files that one request keeps, and the longest text of one
MAX_TEXTS: Final = 32
MAX_TEXT: Final = 16 * 1024
Described = tuple[str, str]  # the declarations of a <D:response>, and its propstats
MediaType = tuple[str | None, str | None]  # and the language
_NO_TYPE: Final[MediaType] = (None, None)
# index in the request, function that reads a live property (None: one of `CORE`), name; start, end, empty tag
NamedReader = tuple[int, LiveReader | None, str, str, str, str]
RENEWED: Final = 64  # sub-requests after which their recorded file dependencies are dropped


class PropfindKind(IntEnum):
    """What PROPFIND asks for."""

    ALL = 1
    NAMES = 2
    NAMED = 3


def tag(name: str, value: str) -> str:
    """Return an element with a line break."""
    return f"<{name}>{value}</{name}>\n" if value else f"<{name}/>\n"


class Prefixes:
    """The namespaces that one <D:response> declares; prefixes ``g`` are given out by number."""

    __slots__ = ("_by_uri", "_declared", "_next")

    def __init__(self) -> None:
        self._declared: dict[str, str] = {}
        self._by_uri: dict[str, str] = {}
        self._next = 0

    def add(self, prefix: str, uri: str) -> None:
        """Declare *prefix*."""
        self._declared[prefix] = uri
        self._by_uri[uri] = prefix

    def add_store(self, store: PropertyStore) -> None:
        """Declare the namespaces of dead properties."""
        for number, uri in enumerate(store.namespaces()):
            if uri:
                self.add(f"ns{number}", uri)

    def empty(self, name: PropertyName) -> str:
        """Return an empty element with the prefix for its namespace."""
        if not name.namespace:
            return f"<{name.name}/>\n"
        if name.namespace not in self._by_uri:
            self.add(f"g{self._next}", name.namespace)
            self._next += 1
        return f"<{self._by_uri[name.namespace]}:{name.name}/>\n"

    def text(self) -> str:
        """Return the declarations."""
        return "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in self._declared.items())


def _no_value(_resource: object, _r: object) -> None:
    """Read a property that is not live."""


class MediaTypes:
    """Media type and language of resources, from sub-requests (httpd's dav_do_prop_subreq).

    The names in one directory that the settings treat alike (engine/specialized) need one sub-request; the
    classes of one directory at a time are held, at most `MAX_CLASSES`.
    """

    __slots__ = ("_classes", "_classify", "_count", "_directory", "_r")

    def __init__(self, r: Request) -> None:
        self._r = r
        self._directory = ""
        self._classify: Classify | None = None
        self._classes: dict[Hashable, MediaType] = {}
        self._count = 0

    def known(self, resource: Resource) -> MediaType | None:
        """Return what is known without a sub-request, None if that is nothing."""
        if resource.is_collection or not resource.exists:
            return None
        directory, _, name = resource.uri.rpartition("/")
        return self.of_file(directory, name)

    def of_file(self, directory: str, name: str) -> MediaType | None:
        """Return the same for the file *name* in *directory*, whose slash at the end is left out."""
        if directory != self._directory or self._classify is None:
            return None
        return self._classes.get(self._classify(to_bytes(f"{directory}/{name}"), to_bytes(name)))

    async def find(self, resource: Resource) -> MediaType:
        """Return the result of a sub-request."""
        r = self._r
        if self._count % RENEWED == 0:  # what was recorded is of no use for a response that is not cached
            r.deps = r.engine.dependencies(r.engine.stat_cache)
            r.set_uncacheable()
        self._count += 1
        sub = await r.engine.lookup_uri(r, escape_uri(resource.uri))
        found = (sub.content_type, sub.headers_out.get_list("Content-Language"))
        if not resource.is_collection and resource.exists:
            self._learn(sub, resource.uri, found)
        return found

    def _learn(self, sub: Request, uri: str, found: MediaType) -> None:
        directory, _, name = uri.rpartition("/")
        file = sub.filename or ""
        if sub.status != OK_STATUS or sub.uri != uri or not file.endswith(f"/{name}") or sub.path_info:
            return
        if directory != self._directory:
            self._directory = directory
            self._classes = {}
            self._classify = classifier(sub, f"{directory}/", file[: -len(name)])
        if self._classify is not None:
            group = self._classify(to_bytes(uri), to_bytes(name))
            if group is not None and len(self._classes) < MAX_CLASSES:
                self._classes[group] = found


@dataclass(slots=True, eq=False)
class FormattedTexts:
    """Texts about files, from what *describe* writes about a template; *types* are None if none of the
    properties depends on the media type.
    """

    _template: PropertyTemplate | None
    _describe: Callable[[PropertySource, MediaType], Described]
    _types: MediaTypes | None
    _by_type: dict[MediaType, FileText | None] = field(init=False, default_factory=dict)

    def find(self, directory: str, name: str) -> FileText | None:
        """Return the function for one file; see MemberTexts."""
        kind = _NO_TYPE if self._types is None else self._types.of_file(directory, name)
        return None if kind is None else self._of_type(kind)

    def of_all(self) -> FileText | None:
        """Return the function for all files; see MemberTexts."""
        return self._of_type(_NO_TYPE) if self._types is None else None

    def _of_type(self, kind: MediaType) -> FileText | None:
        if kind in self._by_type:
            return self._by_type[kind]
        if self._template is None or len(self._by_type) >= MAX_TEXTS:
            return None
        declared, propstats = self._describe(self._template, kind)
        text = linked_response(HREF, propstats, declared)
        found = self._template.compile(text) if len(text) <= MAX_TEXT else None
        self._by_type[kind] = found
        return found


class Describer:
    """Writes the <D:response> of resources of a PROPFIND; *document*: the body, None for all."""

    __slots__ = (
        "_kind",
        "_kind_of_readers",
        "_locks",
        "_names",
        "_needs_type",
        "_patterns",
        "_r",
        "_readers",
        "_shows_locks",
        "_text",
        "_types",
    )

    def __init__(
        self, r: Request, kind: PropfindKind, document: Document | None, locks: LockView, *, shows_locks: bool
    ) -> None:
        self._r = r
        self._kind = kind
        self._locks = locks
        self._shows_locks = shows_locks
        wanted: XmlElement | None = None if document is None else document.root.child("prop")
        self._names: list[PropertyName] = []
        if document is not None and wanted is not None:
            self._names = [PropertyName(document.uri(each), each.name) for each in wanted.children]
        self._text = self._named if kind is PropfindKind.NAMED else self._all
        self._types = MediaTypes(r)
        self._needs_type = kind is not PropfindKind.NAMED or any(
            name.name in (CONTENT_TYPE, CONTENT_LANGUAGE) for name in self._names
        )
        self._kind_of_readers: type[PropertySource] | None = None
        self._readers: list[NamedReader] = []
        self._patterns: dict[tuple[int, ...], tuple[str, str]] = {}

    def texts(self, resource: Resource) -> MemberTexts:
        """Return the texts about files in a listing of *resource*."""
        return FormattedTexts(resource.template(), self._text, self._types if self._needs_type else None)

    def describe_now(self, resource: Resource) -> str | None:
        """Return the response about *resource*; None if that needs a sub-request."""
        if not self._needs_type:
            return self._response(resource, _NO_TYPE)
        kind = self._types.known(resource)
        return None if kind is None else self._response(resource, kind)

    async def describe(self, resource: Resource) -> str:
        """Return the response about *resource*."""
        return self._response(resource, await self._types.find(resource))

    def _response(self, resource: Resource, kind: MediaType) -> str:
        declared, propstats = self._text(resource, kind)
        return response(resource.uri, propstats, declared)

    def _all(self, resource: PropertySource, kind: MediaType) -> Described:
        names_only = self._kind is PropfindKind.NAMES
        dead = self._store(resource)
        names = dead.names() if dead is not None else []
        parts = [_START]
        declared = _ALL_LIVE
        stored = frozenset[str]()
        if dead is not None:
            prefixes = Prefixes()
            prefixes.add_store(dead)
            parts += [prefixes.empty(name) if names_only else dead.get(name) or "" for name in names]
            declared = prefixes.text() + declared
            stored = frozenset(name.name for name in names if name.namespace == DAV_URI)
        live = resource.live_properties(self._r)
        if names_only:
            parts += [f"<{prefix}:{name}/>\n" for prefix, name, _value in live]
        else:
            parts += [tag(f"{prefix}:{name}", value) for prefix, name, value in live]
        for name in CORE:
            value = None if name in stored else self._core(resource, name, kind)
            if value is not None:
                parts.append(tag(f"D:{name}", "" if names_only else value))
        parts.append(_FOUND)
        return declared, "".join(parts)

    def _named(self, resource: PropertySource, kind: MediaType) -> Described:
        r = self._r
        found = ""
        absent: list[int] = []
        for index, read, name, start, end, empty in self._readers_of(type(resource)):
            value = self._core(resource, name, kind) if read is None else read(resource, r)
            if value:
                found += start + value + end
            elif value is None:
                absent.append(index)
            else:
                found += empty
        if absent:
            dead = self._store(resource)
            if dead is not None:
                return self._named_with_dead(resource, kind, dead)
        pattern = tuple(absent)
        declared, bad = self._patterns.get(pattern) or self._pattern(pattern)
        good = "" if bad and not found else _START + found + _FOUND
        return declared, good + bad

    def _pattern(self, absent: tuple[int, ...]) -> tuple[str, str]:
        """Return the declarations and the propstat of missing properties of resources that lack the named
        properties with these indexes and have no dead ones.
        """
        prefixes = Prefixes()
        declared = ""
        missing = []
        indexes = set(absent)
        for index, name in enumerate(self._names):
            if index in indexes:
                missing.append(prefixes.empty(name))
            else:
                declared = self._declared(name, declared)
        bad = "".join((_START, *missing, _MISSING)) if missing else ""
        found = (declared + prefixes.text(), bad)
        self._patterns[absent] = found
        return found

    def _declared(self, name: PropertyName, declared: str) -> str:
        """Return the declarations that a live property needs beside those before it."""
        if name.namespace not in _PREFIXES or (name.namespace == DAV_URI and name.name in CORE):
            return declared
        return _ALL_LIVE if name.name != RESOURCE_TYPE else declared or _DAV_LIVE

    def _named_with_dead(self, resource: PropertySource, kind: MediaType, dead: PropertyStore) -> Described:
        r = self._r
        found = [_START]
        missing = [_START]
        live_declared = ""
        prefixes = Prefixes()
        has_dead = False
        for index, read, core, start, end, empty in self._readers_of(type(resource)):
            value = self._core(resource, core, kind) if read is None else read(resource, r)
            name = self._names[index]
            if value is not None:
                found.append(f"{start}{value}{end}" if value else empty)
                live_declared = self._declared(name, live_declared)
                continue
            text = dead.get(name)
            if text is None:
                missing.append(prefixes.empty(name))
                continue
            if not has_dead:
                prefixes.add_store(dead)
                has_dead = True
            found.append(text)
        bad = "".join((*missing, _MISSING)) if len(missing) > 1 else ""
        good = "".join((*found, _FOUND)) if len(found) > 1 or not bad else ""
        return live_declared + prefixes.text(), good + bad

    def _readers_of(self, kind: type[PropertySource]) -> list[NamedReader]:
        """Return the readers of the properties that the request names, in its order."""
        if self._kind_of_readers is kind:
            return self._readers
        readers: list[NamedReader] = []
        for index, name in enumerate(self._names):
            prefix = _PREFIXES.get(name.namespace, "")
            read: LiveReader | None = None
            if prefix == "lp1" and name.name in CORE:
                element = f"D:{name.name}"
            else:
                read = kind.live_reader(prefix, name.name) or _no_value
                element = f"{prefix}:{name.name}"
            readers.append((index, read, name.name, f"<{element}>", f"</{element}>\n", f"<{element}/>\n"))
        self._kind_of_readers = kind
        self._readers = readers
        return readers

    def _store(self, resource: PropertySource) -> PropertyStore | None:
        """Return the dead properties; None if they cannot be read, as httpd does."""
        try:
            return resource.properties()
        except DavError:
            return None

    def _core(self, resource: PropertySource, name: str, kind: MediaType) -> str | None:
        """Return the value of a property that no repository defines, None without one."""
        if name == SUPPORTED_LOCK:
            return SUPPORTED
        if name == LOCK_DISCOVERY:
            if not self._shows_locks:
                return ""
            try:
                return active_locks(self._locks.find(resource))
            except DavError:
                return None if self._r.plan.dialect.dav_22 else ""
        return kind[0] if name == CONTENT_TYPE else kind[1]
