"""The store ``disk``: entries as files below CacheRoot in httpd's format (disk_format.py).

Files are written under a temporary name and renamed. A header file names the inode of its body, so a header
and a body of different responses are never served together, at whatever moment a process ends.
"""

from __future__ import annotations

import os

from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.programs import may_start_programs
from whimbrel.base.static_typing import Final
from whimbrel.engine.body import FileSegment, Part
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import END_OF_FILE
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache import disk_format as disk
from whimbrel.modules.cache.cache_control import vary_names
from whimbrel.modules.cache.disk_format import DiskInfo, FormatError
from whimbrel.modules.cache.mod_cache_disk.settings import (
    CacheDiskDirConfig,
    CacheDiskServerConfig,
    default_levels,
)
from whimbrel.modules.cache.store import (
    CacheEntry,
    CacheInfo,
    CacheStore,
    DiscardingWriter,
    EntryWriter,
    StoreError,
)
from whimbrel.modules.dav.mod_dav_fs.new_files import write_all

MODULE: Final = "cache_disk"
IN_MEMORY: Final = 64 * 1024  # bytes of a body that is read at once; a longer one is sent from its file
_PRIVATE: Final = 0o700
NO_ROOT: Final = "cache_disk: no CacheRoot"  # key in worker_state: the time of the one line about it


def _log(r: Request, level: str, code: str, text: str, problem: OSError | None = None) -> None:
    cause = "" if problem is None else apr_error(problem)
    r.log(level, text, code=code, module=MODULE, cause=cause)


class DiskPaths:
    """Names of the files of one server's entries."""

    __slots__ = ("_length", "_levels", "root")

    def __init__(self, conf: CacheDiskServerConfig, *, is_22: bool) -> None:
        self.root = conf.root
        self._length = conf.length
        self._levels = conf.levels or default_levels(is_22=is_22)

    def base(self, key: str, above: str = "") -> str:
        """Return an entry's path without suffix; *above*: the header file of the variant's list."""
        name = disk.hash_name(key, self._levels, self._length)
        return f"{above}{disk.VARY}/{name}" if above else f"{self.root}/{name}"


class DiskEntry(CacheEntry):
    """An entry on disk.

    Attributes:
        base, above: path without suffix; the header file with the list of variants, "" without one.
        facts: the facts in its header file; `handle`, `size`: descriptor of the body, -1 without one.
    """

    __slots__ = ("_data", "_paths", "_store", "above", "base", "facts", "handle", "name", "size")

    def __init__(
        self, store: DiskStore, paths: DiskPaths, name: str, key: str, base: str, above: str, facts: DiskInfo
    ) -> None:
        self._store = store
        self._paths = paths
        self.name = name
        self.key = key
        self.base = base
        self.above = above
        self.facts = facts
        self.handle = -1
        self.size = 0
        self._data = b""
        self.info = CacheInfo(
            facts.status, facts.date, facts.expire, facts.request_time, facts.response_time, facts.control
        )

    def open_body(self) -> bool:
        """Open the body; return False if the file does not belong to the header.

        Raises:
            OSError: it cannot be read.
        """
        self.handle = os.open(to_bytes(self.base + disk.DATA), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        found = os.fstat(self.handle)
        self.size = found.st_size
        if (found.st_ino, found.st_dev) != (self.facts.inode, self.facts.device):
            return False
        if self.size <= IN_MEMORY:
            self._data = os.pread(self.handle, self.size + 1, 0)
            return len(self._data) == self.size
        return True

    def body(self) -> list[Part]:
        """Return the body: bytes, or a segment of its file."""
        if self._data or self.handle < 0 or not self.size:
            return [self._data] if self._data else []
        return [FileSegment(os.dup(self.handle), 0, self.size)]

    def record(self, r: Request) -> bool:
        """Record header and body; the body of a large entry is not cached in memory."""
        suffixes = (disk.HEADER, disk.DATA) if self.facts.has_body else (disk.HEADER,)
        files = [self.base + suffix for suffix in suffixes] + ([self.above] if self.above else [])
        found = [r.deps.lstat(file) for file in files]
        return None not in found and not (self.size and not self._data)

    async def update(self, r: Request, fields: Headers, request_fields: Headers) -> None:
        """Write a new header file for the same body."""
        info = self.info
        facts = self.facts
        facts.date = info.date
        facts.expire = info.expire
        facts.control = info.control
        facts.request_time = info.request_time
        facts.response_time = info.response_time
        if not may_start_programs():
            return
        writer = DiskWriter(self._paths, self.name, facts, fields, request_fields, _vary(r, fields))
        try:
            writer.write_headers(r)
        except OSError as problem:
            writer.abort()
            _log(r, "warn", "AH00725", f"could not create header file {writer.pattern}", problem)
            raise StoreError from problem

    async def invalidate(self, r: Request) -> None:
        """Write a header file without fields."""
        if not may_start_programs():
            return
        self.facts.control.invalidated = True
        writer = DiskWriter(self._paths, self.name, self.facts, self.fields, self.request_fields, None)
        try:
            writer.replace_header(self.base)
        except OSError as problem:
            writer.abort()
            raise StoreError from problem

    async def remove(self, r: Request) -> None:
        """Delete the files, and the directories that are empty then."""
        if not may_start_programs():
            return
        remove_files(r, self._paths.root, self.base)

    def close(self) -> None:
        """Close the body."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def __del__(self) -> None:
        """Close the body of an entry whose request was cancelled."""
        self.close()


def remove_files(r: Request, root: str, base: str) -> None:
    """Delete header and body of *base*, and the directories that are empty then.

    Raises:
        StoreError: a file is still there.
    """
    for suffix, codes, what in (
        (disk.HEADER, ("AH00711", "AH00712"), "headers"),
        (disk.DATA, ("AH00713", "AH00714"), "data"),
    ):
        path = base + suffix
        _log(r, "debug", codes[0], f"Deleting {path} from cache.")
        try:
            os.unlink(to_bytes(path))
        except FileNotFoundError:
            pass
        except OSError as problem:
            _log(r, "debug", codes[1], f"Failed to delete {what} file {path} from cache.", problem)
            raise StoreError from problem
    remove_directories(r, root, base)


def remove_directories(r: Request, root: str, base: str) -> None:
    """Remove the directories of *base* below *root* that are empty."""
    directory = base.rpartition("/")[0]
    while len(directory) > len(root):
        _log(r, "debug", "AH00715", f"Deleting directory {directory} from cache")
        try:
            os.rmdir(to_bytes(directory))
        except FileNotFoundError:
            pass
        except OSError:
            return
        directory = directory.rpartition("/")[0]


@dataclass(slots=True, eq=False)
class DiskWriter(EntryWriter):
    """Files of a response that is being stored."""

    _paths: DiskPaths
    _key: str
    _facts: DiskInfo
    _fields: Headers
    _request_fields: Headers
    _vary: str | None
    _maximum: int | None = None
    _minimum: int = 0
    _file: int = field(init=False, default=-1)
    _data: str = field(init=False, default="")
    _temporary: list[str] = field(init=False, default_factory=list)
    size: int = field(init=False, default=0)

    @property
    def pattern(self) -> str:
        """Return the name of temporary files, for the log."""
        return f"{self._paths.root}/{disk.TEMPORARY}XXXXXX"

    def _make(self) -> tuple[int, str]:
        """Return a new temporary file."""
        handle, path = make_temporary(self._paths.root)
        self._temporary.append(path)
        return handle, path

    def write(self, data: bytes) -> None:
        """Append to the body; a response to HEAD has none."""
        if self._facts.is_head_only or not data:
            return
        try:
            if self._file < 0:
                self._file, self._data = self._make()
                found = os.fstat(self._file)
                self._facts.inode = found.st_ino
                self._facts.device = found.st_dev
                self._facts.has_body = True
            write_all(self._file, data)
        except OSError as problem:
            self.abort()
            text = f"Error when writing cache file for URL {self._key}"
            raise StoreError("error", "AH00731", text, MODULE) from problem
        self.size += len(data)
        if self._maximum is not None and self.size > self._maximum:
            self.abort()
            text = f"URL {self._key} failed the size check ({self.size}>{self._maximum})"
            raise StoreError("debug", "AH00732", text, MODULE)

    async def commit(self, r: Request) -> None:
        """Rename header and body to their names.

        A response to HEAD is stored in place of an entry with a body only: httpd fails where it has no
        body file to remove.
        """
        try:
            self._check(r)
            base = self._base()[0]
            if self._facts.is_head_only and not os.path.lexists(to_bytes(base + disk.DATA)):
                remove_files(r, self._paths.root, base)
                raise self._not_cached(r)
            self.write_headers(r)
            if self._facts.is_head_only:
                os.unlink(to_bytes(base + disk.DATA))
            if self._data:
                self._rename(self._data, base + disk.DATA)
            self._close()
        except OSError as problem:
            self.abort()
            raise self._not_cached(r, problem) from problem
        _log(r, "debug", "AH00737", f"commit_entity: Headers and body for URL {self._key} cached.")

    def _not_cached(self, r: Request, problem: OSError | None = None) -> StoreError:
        text = f"commit_entity: URL '{self._key}' not cached due to earlier disk error."
        _log(r, "debug", "AH00736", text, problem)
        return StoreError()

    def _check(self, r: Request) -> None:
        if self._facts.is_head_only:
            return
        code = ""
        text = ""
        if r.connection.aborted or r.no_cache:
            code = "AH00733"
            text = f"Discarding body for URL {self._key} because connection has been aborted."
        elif self.size < self._minimum:
            code = "AH00734"
            text = f"URL {self._key} failed the size check ({self.size}<{self._minimum})"
        elif r.headers_out.get("Content-Length") not in (None, str(self.size)):
            code = "AH00735"
            text = f"URL {self._key} didn't receive complete response, not caching"
        if code:
            self.abort()
            raise StoreError("info" if code == "AH00733" else "debug", code, text, MODULE)

    def _base(self) -> tuple[str, str, list[str]]:
        """Return the path without suffix, the header file of the list of variants and its names."""
        base = self._paths.base(self._key)
        vary = self._vary
        if vary is None:
            return base, "", []
        names = vary_names(vary) or []
        above = base + disk.HEADER
        key = disk.variant_key(self._request_fields, names, self._key)
        return self._paths.base(key, above), above, names

    def write_headers(self, r: Request) -> None:
        """Write the header file, and the list of a response that varies.

        Raises:
            OSError: they could not be written.
        """
        base, above, names = self._base()
        header = disk.pack_header(self._facts, self._key, self._fields, self._request_fields)
        temporary = self._filled(header)
        vary = self._filled(disk.pack_vary(self._facts.expire, names)) if above else ""
        self._rename(temporary, base + disk.HEADER)
        if vary:
            self._rename(vary, above)

    def replace_header(self, base: str) -> None:
        """Write the header file of *base* without fields.

        Raises:
            OSError: it could not be written.
        """
        self._rename(self._filled(disk.pack_header(self._facts, self._key)), base + disk.HEADER)

    def _filled(self, data: bytes) -> str:
        handle, path = self._make()
        try:
            write_all(handle, data)
        finally:
            os.close(handle)
        return path

    def _rename(self, source: str, target: str) -> None:
        """Rename a temporary file; htcacheclean may remove the directories, so they are made again."""
        old = to_bytes(source)
        new = to_bytes(target)
        try:
            os.rename(old, new)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(new), _PRIVATE, exist_ok=True)
            os.rename(old, new)
        self._temporary.remove(source)

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def abort(self) -> None:
        """Delete the temporary files."""
        self._close()
        for path in self._temporary:
            try:
                os.unlink(to_bytes(path))
            except OSError:
                pass
        self._temporary.clear()

    def __del__(self) -> None:
        """Delete the files of a response that was cancelled."""
        if self._temporary:
            self.abort()


def make_temporary(root: str) -> tuple[int, str]:
    """Return a new file of httpd's name for temporary ones, and its path.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        path = f"{root}/{disk.TEMPORARY}{os.urandom(3).hex()}"
        try:
            return os.open(to_bytes(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path
        except FileExistsError:
            continue


def _vary(r: Request, fields: Headers) -> str | None:
    """Return the Vary field that variants are stored by; 2.2 overlooks that of a script."""
    return r.headers_out.get_list("Vary") if r.plan.dialect.cache_22 else fields.get_list("Vary")


class DiskStore(CacheStore):
    """The store of mod_cache_disk."""

    def _paths(self, r: Request) -> DiskPaths:
        conf = r.server_conf(CacheDiskServerConfig)
        return DiskPaths(conf, is_22=r.plan.dialect.cache_22)

    async def open_entry(self, r: Request, key: str) -> CacheEntry | None:
        """Return the entry; one that cannot be read, or whose files do not match, is none."""
        paths = self._paths(r)
        if not paths.root:
            if r.engine.worker_state.setdefault(NO_ROOT, r.time) == r.time:
                text = "Cannot cache files to disk without a CacheRoot specified."
                _log(r, "error", "AH00703", text)
            return None
        return _opened(self, r, paths, key)

    def declines(self, r: Request, key: str, size: int) -> bool:
        """Return True without CacheRoot, and for parts and sizes that are not stored."""
        if not self._paths(r).root:
            return True
        conf = r.dir_config(CacheDiskDirConfig)
        if r.status == 206:
            _log(r, "debug", "AH00700", f"URL {key} partial content response not cached")
            return True
        if size > conf.max_size or 0 <= size < conf.min_size:
            is_long = size > conf.max_size
            sign, bound = (">", conf.max_size) if is_long else ("<", conf.min_size)
            code = "AH00701" if is_long else "AH00702"
            _log(r, "debug", code, f"URL {key} failed the size check ({size} {sign} {bound})")
            return True
        return False

    def read_size(self, r: Request) -> int:
        """Return CacheReadSize."""
        return r.dir_config(CacheDiskDirConfig).read_size

    def create_entry(
        self, r: Request, key: str, info: CacheInfo, fields: Headers, request_fields: Headers
    ) -> EntryWriter:
        """Return the writer of a new entry."""
        if not may_start_programs():
            return DiscardingWriter()
        conf = r.dir_config(CacheDiskDirConfig)
        facts = DiskInfo.of(info, has_body=False, is_head_only=r.header_only)
        return DiskWriter(
            self._paths(r), key, facts, fields, request_fields, _vary(r, fields), conf.max_size, conf.min_size
        )


def _read(path: str) -> bytes:
    handle = os.open(to_bytes(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(handle, min(os.fstat(handle).st_size, disk.MAX_HEADER))
    finally:
        os.close(handle)


def _opened(store: DiskStore, r: Request, paths: DiskPaths, key: str) -> DiskEntry | None:
    """Return the entry of *key* or of its variant."""
    base = paths.base(key)
    above = ""
    own_key = key
    try:
        data = _read(base + disk.HEADER)
    except OSError:
        return None
    if disk.format_of(data) == disk.VARY_FORMAT:
        above = base + disk.HEADER
        try:
            names = disk.unpack_vary(data)[1]
        except FormatError:
            _log(r, "error", "AH00704", f"Cannot parse vary header file: {above}")
            return None
        own_key = disk.variant_key(r.headers_in, names, key)
        base = paths.base(own_key, above)
        try:
            data = _read(base + disk.HEADER)
        except OSError:
            return None
    elif disk.format_of(data) != disk.DISK_FORMAT:
        path = base + disk.HEADER
        version = disk.format_of(data)
        text = f"File '{path}' has a version mismatch. File had version: {version}."
        _log(r, "error", "AH00705", text)
        return None
    return _read_entry(store, r, paths, (key, own_key, base, above), data)


def _read_entry(
    store: DiskStore, r: Request, paths: DiskPaths, names: tuple[str, str, str, str], data: bytes
) -> DiskEntry | None:
    """Return the entry whose header file has *data*; *names*: key, key of the variant, path, list."""
    key, own_key, base, above = names
    try:
        facts, length = disk.unpack_facts(data)
        if disk.key_of(data, length) != key:
            raise FormatError("another key")
        fields, request_fields, count = disk.unpack_fields(data, disk.FACTS_SIZE + length)
    except FormatError:
        _log(r, "error", "AH00706", f"Cannot read header file {base}{disk.HEADER}")
        return None
    if facts.is_head_only and not r.header_only:
        text = f"HEAD request cached, non-HEAD requested, ignoring: {base}{disk.HEADER}"
        _log(r, "debug", "AH00707", text)
        return None
    entry = DiskEntry(store, paths, key, own_key, base, above, facts)
    entry.fields = fields
    entry.request_fields = request_fields
    if not facts.is_head_only and not _open_matching_body(r, entry, data):
        return None
    if count < 2:
        for _ in range(2 - count):
            text = "Premature end of cache headers."
            r.log("error", text, code="AH00717", module=MODULE, cause=END_OF_FILE)
        if not facts.control.invalidated:
            return None
    _log(r, "debug", "AH00720", f"Recalled headers for URL {key}")
    return entry


def _open_matching_body(r: Request, entry: DiskEntry, header: bytes) -> bool:
    """Open the body of an entry; return False if it is missing, another one, or not of the stored length.

    *header* is the header file as it was read. It is read again behind the body: the inode of a removed body
    may be that of the body that has replaced it, and the header of that one is there first.
    """
    belongs = True
    if entry.facts.has_body:
        try:
            belongs = entry.open_body() and _read(entry.base + disk.HEADER) == header
        except OSError as problem:
            _log(r, "error", "AH00708", f"Cannot open data file {entry.base}{disk.DATA}", problem)
            return False
    if not belongs or entry.fields.get("Content-Length") not in (None, str(entry.size)):
        text = f"Cached URL info header '{entry.name}' didn't match body, ignoring this entry"
        _log(r, "debug", "AH00710", text)
        return False
    if entry.facts.has_body:
        _log(r, "debug", "AH00709", f"Recalled cached URL info header {entry.name}")
    return True
