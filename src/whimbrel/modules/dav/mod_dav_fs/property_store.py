"""Dead properties in httpd's own files: one DBM for each resource, in the directory .DAV beside it.

The key of a property is the number of its namespace, a colon and its name; the value is xml:lang and the
content, each followed by a NUL.  The pair METADATA holds the version of the format and the URIs of the
namespaces.  New files are of httpd's default type here, Berkeley DB; SDBM files of other builds are kept as
they are.  A file is read whole and replaced atomically.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from struct import error as too_short
from struct import pack, unpack_from
from typing import Final

from whimbrel.base.file_locks import lock_open_file
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.modules.dav.mod_dav.errors import DavError, ErrorId, TooManyNamespaces
from whimbrel.modules.dav.mod_dav.provider import PropertyEdit, PropertyName
from whimbrel.modules.dav.mod_dav_fs.new_files import replace_file
from whimbrel.modules.support.dbm import bdb, bdb_writer, sdbm, sdbm_writer

STATE_DIRECTORY: Final = ".DAV"
STATE_OF_DIRECTORY: Final = ".state_for_dir"
METADATA: Final = b"METADATA"
_VERSION: Final = 4
_LENGTH: Final = 4  # bytes of METADATA before the URIs
MAX_SIZE: Final = 16 * 1024 * 1024  # bytes of a file; a larger one is refused
MAX_NAMESPACES: Final = 2048


class DbmProperties:
    """The properties in the file *name* of the state directory in *directory*; raises DavError."""

    __slots__ = ("_base", "_by_uri", "_directory", "_is_sdbm", "_namespaces", "_pairs")

    def __init__(self, directory: str, name: str) -> None:
        self._directory = f"{directory}/{STATE_DIRECTORY}"
        self._base = f"{self._directory}/{name}"
        self._is_sdbm = False
        self._pairs: dict[bytes, bytes] = {}
        self._namespaces: list[str] = []
        self._by_uri: dict[str, int] = {}
        self._read()

    # reading ------------------------------------------------------------------------------------------
    def _read(self) -> None:
        data = self._content("")
        try:
            if data is None:
                data = self._content(".pag")
                self._is_sdbm = data is not None
                self._pairs = {} if data is None else dict(sdbm.pairs(data))
            else:
                self._pairs = dict(bdb.pairs(data)) if data else {}
        except bdb.Damaged:
            raise DavError(500, "Could not open database.", 1, errno=22) from None
        try:
            self._namespaces = _namespaces(self._pairs.get(METADATA))
        except too_short:
            text = "Prop database namespace table is invalid and cannot be used."
            raise DavError(500, text, ErrorId.PROP_BAD_MAJOR) from None
        self._by_uri = {}
        for number, uri in enumerate(self._namespaces):
            self._by_uri.setdefault(uri, number)

    def _content(self, suffix: str) -> bytes | None:
        try:
            data = read_start(to_bytes(self._base + suffix), MAX_SIZE + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise DavError(500, "Could not open database.", 1, errno=problem.errno or 0) from None
        if len(data) > MAX_SIZE:
            raise DavError(500, "Could not open database.", 1, errno=27)
        return data

    def namespaces(self) -> list[str]:
        """Return the URIs of all namespaces in use, by number."""
        return self._namespaces

    def names(self) -> list[PropertyName]:
        """Return the names of all properties."""
        return [self._name(key) for key in self._pairs if key != METADATA and b":" in key]

    def _name(self, key: bytes) -> PropertyName:
        number, _, name = to_text(key.rstrip(b"\0")).partition(":")
        index = decimal(number) if is_digits(number) and len(number) < 6 else -1
        uri = self._namespaces[index] if 0 <= index < len(self._namespaces) else ""
        return PropertyName(uri, name)

    def _key(self, name: PropertyName) -> bytes | None:
        """Return the key of a property; None if its namespace is not in use."""
        if not name.namespace:
            return to_bytes(f":{name.name}\0")
        number = self._by_uri.get(name.namespace)
        return None if number is None else to_bytes(f"{number}:{name.name}\0")

    def get(self, name: PropertyName) -> str | None:
        """Return the property as XML, with prefixes ``ns`` and the number of the namespace."""
        key = self._key(name)
        stored = None if key is None else self._pairs.get(key)
        if key is None or stored is None:
            return None
        element = to_text(key[:-1])
        element = element[1:] if element.startswith(":") else f"ns{element}"
        language, _, content = to_text(stored).partition("\0")
        content = content.partition("\0")[0]
        if not content:
            return f"<{element}/>\n"
        attribute = f' xml:lang="{language}"' if language else ""
        return f"<{element}{attribute}>{content}</{element}>\n"

    # writing ------------------------------------------------------------------------------------------
    def prepare(self) -> None:
        """Create the state directory; raise DavError if it is not writable."""
        path = to_bytes(self._directory)
        try:
            os.mkdir(path)
        except OSError:
            pass  # it may exist; the next step tells
        if not os.access(path, os.W_OK | os.X_OK):
            errno = 13 if os.path.isdir(path) else 2
            raise DavError(500, "Could not open database.", 1, errno=errno)

    def change(self, edits: Iterable[PropertyEdit], namespaces: list[str]) -> None:
        """Make all *edits*, or none."""
        with self._locked():
            self._read()
            pairs = dict(self._pairs)
            number: dict[int, int] = {}
            for edit in edits:
                if not edit.is_removal and not number:
                    number = self._numbers(namespaces)
                key = self._key(edit.name)
                if edit.is_removal:
                    pairs.pop(key or b"", None)
                elif key is not None:
                    language, content = edit.value(number)
                    pairs[key] = to_bytes(f"{language}\0{content}\0")
            if pairs == self._pairs:
                return
            if self._namespaces:
                pairs[METADATA] = _metadata(self._namespaces)
            self._write(pairs)
            self._pairs = pairs

    def _numbers(self, namespaces: list[str]) -> dict[int, int]:
        """Return the number of each namespace of a request, added to those in use."""
        for uri in namespaces:
            if uri not in self._by_uri:
                if len(self._namespaces) >= MAX_NAMESPACES:
                    raise TooManyNamespaces(413, "Too many distinct namespaces in property database.")
                self._by_uri[uri] = len(self._namespaces)
                self._namespaces.append(uri)
        return {index: self._by_uri[uri] for index, uri in enumerate(namespaces)}

    def _write(self, pairs: dict[bytes, bytes]) -> None:
        try:
            if self._is_sdbm:
                page, directory = sdbm_writer.files(pairs.items())
                contents = [(".pag", page), (".dir", directory)]
            else:
                contents = [("", bdb_writer.data_of(pairs))]
        except sdbm_writer.Full:
            raise DavError(500, "Invalid argument", 22) from None
        if sum(len(data) for _suffix, data in contents) > MAX_SIZE:
            raise DavError(507, "The property database has reached its largest size.")
        try:
            for suffix, data in contents:
                replace_file(self._base + suffix, data)
        except OSError as problem:
            status = 507 if problem.errno == 28 else 500
            raise DavError(status, "Could not open database.", 1, errno=problem.errno or 0) from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Exclude other writers of the same state directory."""
        try:
            handle = os.open(to_bytes(self._directory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as problem:
            raise DavError(500, "Could not open database.", 1, errno=problem.errno or 0) from None
        try:
            lock_open_file(handle)
            yield
        finally:
            os.close(handle)


def _namespaces(stored: bytes | None) -> list[str]:
    """Return the URIs in METADATA; raise struct.error for a wrong form, DavError for another version."""
    if stored is None:
        return []
    if stored[:1] != bytes([_VERSION]):
        text = "Prop database has the wrong major version number and cannot be used."
        raise DavError(500, text, ErrorId.PROP_BAD_MAJOR)
    count = unpack_from("!h", stored, 2)[0]
    uris = to_text(stored[_LENGTH:]).split("\0")
    if count < 0 or len(uris) <= count:
        raise too_short
    return uris[:count]


def _metadata(namespaces: list[str]) -> bytes:
    return pack("!BBh", _VERSION, 0, len(namespaces)) + to_bytes("".join(f"{uri}\0" for uri in namespaces))
