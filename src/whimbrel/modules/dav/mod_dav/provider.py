"""What mod_dav needs of a repository: the protocols of providers (`Dav NAME`) and of their resources.

A module registers a `DavProvider` under the group ``dav``; mod_dav_fs has ``filesystem``.  Paths are decoded
texts with one character per byte.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from whimbrel.base.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import os

    from whimbrel.engine.request import Request
    from whimbrel.modules.dav.mod_dav.locks import LockStore

ALL: Final = -1  # depth infinity
MARK: Final = "\0"  # around a word in the text about a template; no XML document contains it
HREF: Final = f"{MARK}href{MARK}"  # the place of the escaped path of the URL


@dataclass(frozen=True, slots=True)
class PropertyName:
    """The name of a property; *namespace* is a URI, "" for none."""

    namespace: str
    name: str


class PropertyStore(Protocol):
    """The dead properties of one resource.  All functions raise DavError."""

    def namespaces(self) -> list[str]:
        """Return the URIs of all namespaces in use, by number."""

    def names(self) -> list[PropertyName]:
        """Return the names of all properties."""

    def get(self, name: PropertyName) -> str | None:
        """Return the property as XML, with prefixes ``ns`` and the number of the namespace."""

    def change(self, edits: Iterable[PropertyEdit], namespaces: list[str]) -> None:
        """Make all *edits* or none; *namespaces* are those of the request."""


class PropertyEdit(Protocol):
    """A dead property to set, or to remove."""

    name: PropertyName
    is_removal: bool

    def value(self, number: dict[int, int]) -> tuple[str, str]:
        """Return language and content as XML; *number* maps the request's namespaces to the store's."""


class Upload(Protocol):
    """A new content of a resource, invisible until complete; both functions block, raise DavError."""

    def write(self, data: bytes) -> None:
        """Append *data*."""

    def commit(self) -> None:
        """Replace the content of the resource."""

    def abort(self) -> None:
        """Drop the new content."""


LiveReader = Callable[[Any, Any], str | None]
# the text about one file: of the escaped path of its URL, which needs no quoting, and its stat result
FileText = Callable[[str, "os.stat_result"], str]


class MemberTexts(Protocol):
    """Texts about files that have no dead properties and no locks, without a `Resource` of each."""

    def of_all(self) -> FileText | None:
        """Return the function for all names; None if it depends on the name."""

    def find(self, directory: str, name: str) -> FileText | None:
        """Return the function for *name* in *directory*, a decoded path without the slash at the end; None
        if it needs a `Resource`.
        """


class PropertySource(Protocol):
    """What the properties of a `Resource` are read from."""

    exists: bool
    key: str

    def live_properties(self, r: Request) -> Iterator[tuple[str, str, str]]:
        """See Resource."""

    @classmethod
    def live_reader(cls, prefix: str, name: str) -> LiveReader | None:
        """See Resource."""

    def properties(self) -> PropertyStore | None:
        """See Resource."""


class PropertyTemplate(PropertySource, Protocol):
    """Properties in place of those of any file: live values are words between two `MARK`."""

    def compile(self, text: str) -> FileText | None:
        """Return the function that fills the words in *text*; None if it has too many."""


class Resource:
    """One resource of a repository, which may not exist.

    Attributes:
        uri: decoded path of its URL, without the slash at the end; a walk gives collections one.
        key: its name in the lock database.
        exists: False for a resource that a method may create.
    """

    __slots__ = ("exists", "is_collection", "key", "uri")

    def __init__(self, uri: str, key: str, *, exists: bool, is_collection: bool) -> None:
        self.uri = uri
        self.key = key
        self.exists = exists
        self.is_collection = is_collection

    @abstractmethod
    def parent(self) -> Resource | None:
        """Return the collection that it is in, None for the root."""

    @abstractmethod
    def is_same(self, other: Resource) -> bool:
        """Return True if both are one resource."""

    def contains(self, other: Resource) -> bool:
        """Return True if *other* is below it."""
        return other.key.startswith(self.key.rstrip("/") + "/") and other.key != self.key

    @abstractmethod
    def etag(self, r: Request) -> str:
        """Return its ETag, "" without one."""

    @abstractmethod
    def live_properties(self, r: Request) -> Iterator[tuple[str, str, str]]:
        """Yield prefix, name and value (XML) of its live properties: lp1 is DAV:, lp2 is httpd's own."""

    @classmethod
    @abstractmethod
    def live_reader(cls, prefix: str, name: str) -> LiveReader | None:
        """Return the function that reads one live property, None if there is none of that name.

        It is called with a resource and the request, and returns None if that resource does not have it.
        """

    @abstractmethod
    def properties(self, *, write: bool = False) -> PropertyStore | None:
        """Return its dead properties, None without any; raise DavError.  *write*: they will be changed."""

    @abstractmethod
    def walk(self, depth: int) -> Iterator[Resource]:
        """Yield the resource and those below it down to *depth* (`ALL`: all); raise DavError."""

    def listing(self, depth: int, _texts: MemberTexts) -> Iterator[Resource | str]:
        """Yield the same, with texts in place of resources where *texts* has a function."""
        return self.walk(depth)

    def template(self) -> PropertyTemplate | None:
        """Return what stands for any file of a listing, None if there is none."""
        return None

    @abstractmethod
    def member(self, name: str) -> Resource:
        """Return the member *name*, which does not exist."""

    @abstractmethod
    def upload(self, position: int | None) -> Upload:
        """Begin a new content, or overwrite the present one from *position*; blocks, raises DavError."""

    @abstractmethod
    def create_collection(self) -> None:
        """Make it a collection; blocks, raises DavError."""

    @abstractmethod
    def ensure_lockable(self) -> None:
        """Raise DavError if a lock of the resource, which does not exist, cannot be recorded."""

    @abstractmethod
    def copy_to(self, target: Resource, depth: int) -> Iterator[None]:
        """Replace *target* by a copy; a generator whose steps block for a short time. Raises DavError."""

    @abstractmethod
    def move_to(self, target: Resource) -> Iterator[None]:
        """Replace *target* by the resource, in the same way."""

    @abstractmethod
    def remove(self) -> Iterator[None]:
        """Remove the resource and all below it, in the same way."""

    def is_executable(self) -> bool:
        """Return the property executable."""
        return False

    def set_executable(self, value: bool) -> None:
        """Set the property executable; raise DavError."""


class DavProvider(Protocol):
    """A repository."""

    @property
    def name(self) -> str:
        """The name that Dav selects it by."""

    def resource(self, r: Request) -> Resource:
        """Return the resource that *r*, after its fix-ups, is about; raise DavError."""

    def locks(self, r: Request) -> LockStore | None:
        """Return the lock database of this worker; None if the repository has no locks."""
