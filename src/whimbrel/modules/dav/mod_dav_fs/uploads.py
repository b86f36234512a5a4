"""New contents of files: whole, or a part (PUT with Content-Range)."""

from __future__ import annotations

import os
from contextlib import suppress
from errno import EDQUOT, ENOENT, ENOSPC
from stat import S_ISREG

from whimbrel.base.latin1 import to_bytes
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav_fs.new_files import new_file, write_all


def status_of(errno: int, *, is_old: bool) -> int:
    """Return the status that httpd maps an error of the file system to."""
    if errno in (ENOSPC, EDQUOT):
        return 507
    return 409 if errno == ENOENT and not is_old else 500


def _cannot_open(path: str, problem: OSError, is_old: bool) -> DavError:
    text = "An error occurred while opening a resource"
    text += "." if is_old else f" for writing: {path}."
    errno = problem.errno or 0
    return DavError(status_of(errno, is_old=is_old), text, errno=errno)


def _cannot_write(problem: OSError) -> DavError:
    errno = problem.errno or 0
    if errno in (ENOSPC, EDQUOT):
        return DavError(507, "There is not enough storage to write to this resource.", errno=errno)
    return DavError(500, "An error occurred while writing to a resource.", errno=errno)


class OpenContent:
    """A file that receives content; `abort` removes it if it has a `_name`."""

    __slots__ = ("_handle", "_name")
    _handle: int
    _name: str

    def write(self, data: bytes) -> None:
        """Write *data* behind what was written before; raise DavError."""
        try:
            write_all(self._handle, data)
        except OSError as problem:
            raise _cannot_write(problem) from None

    def abort(self) -> None:
        """Close the file; a new one is removed."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        if self._name:
            with suppress(OSError):
                os.unlink(to_bytes(self._name))
            self._name = ""


class NewContent(OpenContent):
    """A temporary file beside *path*, which `commit` renames to it."""

    __slots__ = ("_path",)

    def __init__(self, path: str, *, is_old: bool) -> None:
        try:
            if is_old and os.path.isfile(to_bytes(path)) and not os.access(to_bytes(path), os.W_OK):
                raise PermissionError(13, os.strerror(13), path)
            self._handle, self._name = new_file(path)
        except OSError as problem:
            raise _cannot_open(path, problem, is_old) from None
        self._path = path

    def commit(self) -> None:
        """Rename the file; raise DavError."""
        try:
            os.close(self._handle)
            self._handle = -1
            os.rename(to_bytes(self._name), to_bytes(self._path))
        except OSError as problem:
            text = "There was a problem closing the resource."
            raise DavError(500, text, errno=problem.errno or 0) from None
        self._name = ""


class PartialContent(OpenContent):
    """The file itself, written from *position* on: clients may send several parts at the same time."""

    __slots__ = ()

    def __init__(self, path: str, position: int, *, is_old: bool) -> None:
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK
        self._name = ""
        try:
            try:
                self._handle = os.open(to_bytes(path), flags | os.O_CREAT | os.O_EXCL, 0o666)
                self._name = path
            except FileExistsError:
                self._handle = os.open(to_bytes(path), flags)
        except OSError as problem:
            raise _cannot_open(path, problem, is_old) from None
        try:
            if not S_ISREG(os.fstat(self._handle).st_mode):
                raise OSError
            os.lseek(self._handle, position, os.SEEK_SET)
        except (OSError, OverflowError):
            self.abort()
            text = "Could not seek to specified position in the resource."
            raise DavError(500, text) from None

    def commit(self) -> None:
        """Close the file."""
        os.close(self._handle)
        self._handle = -1
        self._name = ""
