"""Resources and their state before a method: missing, locked without being there, or present."""

from __future__ import annotations

from collections.abc import Generator
from enum import IntEnum

from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.locks import Lock, LockStore
from whimbrel.modules.dav.mod_dav.provider import MemberTexts, PropertySource, Resource
from whimbrel.modules.dav.mod_dav.settings import DavDirConfig


class ResourceState(IntEnum):
    """The state of a resource; ERROR: the lock database cannot tell."""

    ERROR = -1
    EXISTS = 0
    LOCK_NULL = 1
    NULL = 2


def resource_of(r: Request) -> Resource:
    """Return the resource that *r* is about; raise DavError."""
    provider = r.dir_config(DavDirConfig).provider
    if provider is None:
        raise DavError(405, f"DAV not enabled for {escape_html(r.uri)}")
    try:
        return provider.resource(r)
    except DavError as problem:
        raise problem.within("Could not fetch resource information.") from None


def locks_of(r: Request) -> LockStore | None:
    """Return the lock database for *r*, None if its provider has no locks."""
    provider = r.dir_config(DavDirConfig).provider
    return None if provider is None else provider.locks(r)


def state_of(r: Request, resource: Resource) -> ResourceState:
    """Return the state of *resource*, which *r* is about."""
    if resource.exists:
        return ResourceState.EXISTS
    locks = locks_of(r)
    if locks is None or r.path_info:
        return ResourceState.NULL
    try:
        return ResourceState.LOCK_NULL if locks.direct(resource.key) else ResourceState.NULL
    except DavError:
        text = f"Failed to query lock-null status for {r.filename}"
        r.log("error", text, code="AH00623", module="dav")
        return ResourceState.ERROR


class LockView:
    """The locks as one request sees them: none are looked up while the database is empty."""

    __slots__ = ("_has_locks", "_store")

    def __init__(self, store: LockStore | None) -> None:
        self._store = store
        self._has_locks: bool | None = None

    def find(self, resource: PropertySource) -> list[Lock]:
        """Return the locks that hold for *resource*: one that does not exist has its own only, until it is
        created.  Raises DavError.
        """
        if self._store is None or not self.has_locks():
            return []
        return self._store.find(resource.key) if resource.exists else self._store.direct(resource.key)

    def has_locks(self) -> bool:
        """Return True if there are locks at all; raise DavError."""
        if self._has_locks is None:
            self._has_locks = self._store is not None and not self._store.is_empty()
        return self._has_locks

    def is_empty(self) -> bool:
        """Return True if there are no locks, False if they cannot be read."""
        try:
            return not self.has_locks()
        except DavError:
            return False

    def has_locks_below(self, resource: Resource) -> bool:
        """Return True if a resource below *resource* is locked."""
        return self._store is not None and self.has_locks() and bool(self._store.below(resource.key))

    def may_have_null(self) -> bool:
        """Return False if no resource is locked, or if the locks cannot be read."""
        try:
            return self.has_locks()
        except DavError:
            return False

    def null_members(self, resource: Resource) -> list[Resource]:
        """Return the members of *resource* that are locked and do not exist."""
        if self._store is None or not self.has_locks():
            return []
        names = {lock.path.rpartition("/")[2] for lock in self._store.members(resource.key)}
        found = (resource.member(name) for name in sorted(names))
        return [member for member in found if not member.exists]


def walk(resource: Resource, depth: int, locks: LockView) -> Generator[Resource]:
    """Yield *resource* and those below it, with locked ones that do not exist."""
    if not locks.may_have_null():
        yield from resource.walk(depth)
        return
    rest = resource.uri.rstrip("/").count("/") + depth if depth >= 0 else -1
    for each in resource.walk(depth):
        yield each
        if each.is_collection and (rest < 0 or each.uri.rstrip("/").count("/") < rest):
            yield from locks.null_members(each)


def listing(resource: Resource, depth: int, locks: LockView, texts: MemberTexts) -> Generator[Resource | str]:
    """Yield the same as `walk`; without any locks, the texts of *texts* in place of resources."""
    yield from resource.listing(depth, texts) if locks.is_empty() else walk(resource, depth, locks)
