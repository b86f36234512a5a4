"""Files and directories as resources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from errno import ENOENT, ENOSPC
from stat import S_IFDIR, S_IFREG, S_IMODE, S_IXUSR
from typing import Any, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_re import compile
from whimbrel.engine.deps.files import KIND
from whimbrel.engine.request import Request
from whimbrel.http.semantics.dates import format_http
from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.multistatus import quote
from whimbrel.modules.dav.mod_dav.provider import (
    LiveReader,
    MemberTexts,
    PropertyStore,
    PropertyTemplate,
    Resource,
    Upload,
)
from whimbrel.modules.dav.mod_dav_fs import transfer
from whimbrel.modules.dav.mod_dav_fs.file_texts import SECOND, FileProperties, FileStyle, iso_date
from whimbrel.modules.dav.mod_dav_fs.new_files import TEMPORARY
from whimbrel.modules.dav.mod_dav_fs.property_store import (
    STATE_DIRECTORY,
    STATE_OF_DIRECTORY,
    DbmProperties,
)
from whimbrel.modules.dav.mod_dav_fs.uploads import NewContent, PartialContent

_STATE: Final = to_bytes(STATE_DIRECTORY)
# levels of a walk with an open directory; the names of deeper ones are read at once
MAX_OPEN: Final = 16
# what a URL or XML contains in another form
_NOT_PLAIN = compile(r"[^0-9A-Za-z$\-_.+!*'(),:;@=~/]")
_TEXTS: Final = 8  # in one piece of a listing


class FileResource(Resource):
    """A file or directory; *info* is its stat result, None if it does not exist.

    Attributes:
        states: names in the state directory beside it, None if they are not known.
    """

    __slots__ = ("info", "path", "states", "style")

    def __init__(
        self,
        uri: str,
        path: str,
        info: os.stat_result | None,
        style: FileStyle,
        states: frozenset[bytes] | None = None,
    ) -> None:
        # a walk makes thousands of these
        self.uri = uri
        self.key = path
        self.exists = info is not None
        self.is_collection = info is not None and info.st_mode & KIND == S_IFDIR
        self.path = path
        self.info = info
        self.style = style
        self.states = states

    # relatives ----------------------------------------------------------------------------------------
    def parent(self) -> FileResource | None:
        """Return the directory that it is in; None for the root of the URLs."""
        if self.uri == "/" or self.path == "/":
            return None
        path = self.path.rpartition("/")[0] or "/"
        uri = self.uri.rstrip("/").rpartition("/")[0] or "/"
        return FileResource(uri, path, _stat(path), self.style)

    def member(self, name: str) -> FileResource:
        path = f"{self.path.rstrip('/')}/{name}"
        return FileResource(f"{self.uri.rstrip('/')}/{name}", path, _stat(path), self.style)

    def is_same(self, other: Resource) -> bool:
        """Return True if both are one file."""
        if not isinstance(other, FileResource):
            return False
        if self.info is not None and other.info is not None:
            return (self.info.st_dev, self.info.st_ino) == (other.info.st_dev, other.info.st_ino)
        return self.path == other.path

    # properties ---------------------------------------------------------------------------------------
    def etag(self, _r: Request) -> str:
        """Return the ETag of GET, which FileETag Digest does not change; "" without one."""
        return "" if self.info is None else self.style.etag(self.info)

    def live_properties(self, r: Request) -> Iterator[tuple[str, str, str]]:
        for (prefix, name), read in _LIVE.items():
            value = read(self, r)
            if value is not None:
                yield prefix, name, value

    @classmethod
    def live_reader(cls, prefix: str, name: str) -> LiveReader | None:
        return _LIVE.get((prefix, name))

    def properties(self, *, write: bool = False) -> PropertyStore | None:
        directory, name = self.state_file()
        if not write and self.states is not None and not self.is_collection:
            if not _may_have_dead(name, self.states):
                return None
        store = DbmProperties(directory, name)
        if write:
            store.prepare()
        elif not store.namespaces() and not store.names():
            return None
        return store

    def state_file(self) -> tuple[str, str]:
        """Return the directory with the state directory, and the name in that."""
        if self.is_collection:
            return self.path, STATE_OF_DIRECTORY
        directory, _, name = self.path.rpartition("/")
        return directory, name

    def is_executable(self) -> bool:
        """Return True if the owner may execute the file."""
        return self.info is not None and bool(self.info.st_mode & S_IXUSR)

    def set_executable(self, value: bool) -> None:
        """Let the owner execute the file, or not; raise DavError."""
        assert self.info is not None
        mode = S_IMODE(self.info.st_mode)
        try:
            os.chmod(to_bytes(self.path), mode | S_IXUSR if value else mode & ~S_IXUSR)
        except OSError as problem:
            text = "Could not set the executable flag of the target resource."
            raise DavError(500, text, errno=problem.errno or 0) from None

    # walking ------------------------------------------------------------------------------------------
    def walk(self, depth: int) -> Iterator[Resource]:
        """Yield the resource, then files and directories below it in the order of the system; other kinds,
        links among them, and httpd's own files are left out.
        """
        for each in self.listing(depth):
            if not isinstance(each, str):
                yield each

    def template(self) -> PropertyTemplate:
        return FileProperties(self.style)

    def listing(self, depth: int, texts: MemberTexts | None = None) -> Iterator[Resource | str]:
        """Yield the same, with texts in place of files where *texts* has a function."""
        if not self.is_collection:
            yield self
            return
        slash = self.uri.rstrip("/") + "/"
        yield FileResource(slash, self.path, self.info, self.style)
        if depth == 0:
            return
        stack = [_Level(self.path, slash, depth, 0, self.style, texts)]
        try:
            while stack:
                level = stack[-1]
                for found in level.members:
                    yield found
                    if isinstance(found, FileResource) and found.is_collection and level.depth != 1:
                        below = level.depth - 1
                        stack.append(_Level(found.path, found.uri, below, len(stack), self.style, texts))
                        break
                else:
                    stack.pop().close()
        finally:
            for level in stack:
                level.close()

    # changes ------------------------------------------------------------------------------------------
    def upload(self, position: int | None) -> Upload:
        """Begin a new content; see Resource.upload."""
        if position is None:
            return NewContent(self.path, is_old=self.style.is_old)
        return PartialContent(self.path, position, is_old=self.style.is_old)

    def create_collection(self) -> None:
        """Create the directory; raise DavError."""
        try:
            os.mkdir(to_bytes(self.path))
        except OSError as problem:
            errno = problem.errno or 0
            status, text = {
                ENOSPC: (507, "There is not enough storage to create this collection."),
                ENOENT: (409, "Cannot create collection; intermediate collection does not exist."),
            }.get(errno, (403, "Unable to create collection."))
            raise DavError(status, text, errno=errno) from None
        self.info = _stat(self.path)
        self.exists = True
        self.is_collection = True

    def ensure_lockable(self) -> None:
        """Raise DavError unless a file can be created beside it."""
        directory = self.path.rpartition("/")[0]
        if os.access(to_bytes(directory or "/"), os.W_OK | os.X_OK):
            return
        text = f"Error opening {directory}/{STATE_DIRECTORY}/.locknull for writing"
        raise DavError(500, text, errno=ENOENT).within("Could not save .locknull file.")

    def copy_to(self, target: Resource, depth: int) -> Iterator[None]:
        """Replace *target* by a copy; see Resource.copy_to."""
        assert isinstance(target, FileResource)
        return transfer.copy(self, target, depth)

    def move_to(self, target: Resource) -> Iterator[None]:
        """Replace *target* by this file; see Resource.move_to."""
        assert isinstance(target, FileResource)
        return transfer.move(self, target)

    def remove(self) -> Iterator[None]:
        """Remove the file or the tree; see Resource.remove."""
        return transfer.remove(self)


def _created(resource: FileResource, _r: Request) -> str | None:
    return None if resource.info is None else iso_date(resource.info.st_ctime_ns // SECOND)


def _length(resource: FileResource, _r: Request) -> str | None:
    return None if resource.info is None or resource.is_collection else str(resource.info.st_size)


def _modified(resource: FileResource, _r: Request) -> str | None:
    return None if resource.info is None else format_http(resource.info.st_mtime_ns // SECOND)


def _executable(resource: FileResource, _r: Request) -> str | None:
    if resource.info is None or resource.is_collection:
        return None
    return "T" if resource.info.st_mode & S_IXUSR else "F"


_LIVE: Final[dict[tuple[str, str], LiveReader]] = {
    ("lp1", "resourcetype"): lambda resource, _r: "<D:collection/>" if resource.is_collection else "",
    ("lp1", "creationdate"): _created,
    ("lp1", "getcontentlength"): _length,
    ("lp1", "getlastmodified"): _modified,
    ("lp1", "getetag"): lambda resource, r: resource.etag(r) or None,
    ("lp2", "executable"): _executable,
}


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(to_bytes(path))
    except OSError:
        return None


class _Level:
    """One directory of a walk; raises DavError if it cannot be read."""

    __slots__ = ("_entries", "_handle", "depth", "members")

    def __init__(
        self, path: str, uri: str, depth: int, number: int, style: FileStyle, texts: MemberTexts | None
    ) -> None:
        self.depth = depth
        self._handle = -1
        try:
            if number >= MAX_OPEN:
                with os.scandir(os.fsdecode(to_bytes(path))) as opened:
                    entries: Any = iter(list(opened))
            else:  # stat relative to the descriptor resolves one name, not the whole path
                self._handle = os.open(to_bytes(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                entries = os.scandir(self._handle)
        except OSError as problem:
            self._close_handle()
            raise DavError(404, errno=problem.errno or 0) from None
        self._entries = entries
        self.members = _members(entries, path.rstrip("/") + "/", uri, style, texts)

    def close(self) -> None:
        """Close the directory."""
        close = getattr(self._entries, "close", None)
        if close is not None:
            close()
        self._close_handle()

    def _close_handle(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _members(
    entries: Iterable[Any], path: str, uri: str, style: FileStyle, texts: MemberTexts | None
) -> Iterator[FileResource | str]:
    """Yield the files and directories of one directory; *path* and *uri* end with a slash.  Up to `_TEXTS`
    texts of *texts* are one.
    """
    try:
        states = frozenset(os.listdir(to_bytes(path) + _STATE))
    except OSError:
        states = frozenset()
    regular = S_IFREG
    kind_of_mode = KIND
    gathered = None if texts is None else _Gathered(path, uri, style, states, texts)
    for entry in entries:
        name: str = entry.name
        if name[0] == "." and (name == STATE_DIRECTORY or name.startswith(TEMPORARY)):
            continue
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:  # it is gone
            continue
        kind = info.st_mode & kind_of_mode
        if kind == regular and gathered is not None:
            gathered.names.append(name)
            gathered.infos.append(info)
            if len(gathered.names) == _TEXTS:
                yield from gathered.flush()
            continue
        if gathered is not None:
            yield from gathered.flush()
        text = name if name.isascii() else to_text(os.fsencode(name))
        if kind == regular:
            yield FileResource(uri + text, path + text, info, style, states)
        elif kind == S_IFDIR:
            yield FileResource(f"{uri}{text}/", path + text, info, style, states)
    if gathered is not None:
        yield from gathered.flush()


class _Gathered:
    """Files of one directory that are next in a listing; `flush` yields texts and resources."""

    __slots__ = ("_directory", "_link", "_path", "_states", "_style", "_texts", "_uri", "infos", "names")

    def __init__(
        self, path: str, uri: str, style: FileStyle, states: frozenset[bytes], texts: MemberTexts
    ) -> None:
        self._path = path
        self._uri = uri
        self._style = style
        self._states = states
        self._texts = texts
        self._directory = uri[:-1]
        self._link = quote(escape_uri(uri))
        self.names: list[str] = []
        self.infos: list[os.stat_result] = []

    def flush(self) -> Iterator[FileResource | str]:
        """Yield the texts about the files, or resources, and forget them."""
        names = self.names
        if not names:
            return
        link = self._link
        text_of = None
        if not self._states and not _NOT_PLAIN.search("/".join(names)):
            text_of = self._texts.of_all()
        if text_of is not None:
            yield "".join([text_of(link + name, info) for name, info in zip(names, self.infos, strict=True)])
        else:
            yield from self._one_by_one()
        names.clear()
        self.infos.clear()

    def _one_by_one(self) -> Iterator[FileResource | str]:
        found: list[str] = []
        for name, info in zip(self.names, self.infos, strict=True):
            if not _NOT_PLAIN.search(name) and not _may_have_dead(name, self._states):
                text_of = self._texts.find(self._directory, name)
                if text_of is not None:
                    found.append(text_of(self._link + name, info))
                    continue
            if found:
                yield "".join(found)
                found = []
            text = name if name.isascii() else to_text(os.fsencode(name))
            yield FileResource(self._uri + text, self._path + text, info, self._style, self._states)
        if found:
            yield "".join(found)


def _may_have_dead(name: str, states: frozenset[bytes]) -> bool:
    """Return True if the file *name* may have dead properties."""
    if not states:
        return False
    stored = to_bytes(name)
    return stored in states or stored + b".pag" in states
