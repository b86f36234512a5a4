"""DBM files edited by the utilities: read whole, changed in memory, replaced atomically.

SDBM (two files, .pag and .dir) and Berkeley DB hash files ("DB", httpd's default type here) have writers of
their own.
"""

from __future__ import annotations

import os
from typing import Final

from whimbrel.base.file_writing import write_named
from whimbrel.base.latin1 import to_bytes
from whimbrel.modules.support.dbm import bdb, bdb_writer, sdbm, sdbm_writer

UNKNOWN: Final = "APR does not understand this error code"
_DRIVERS: Final = {"DEFAULT": "DB", "DB": "DB", "SDBM": "SDBM"}
_USER_ERROR: Final = 120000
_INVALID: Final = 22


class DbmError(Exception):
    """A file cannot be opened or written: APR's error number and text; *library_message* is what the library
    writes to standard error before.
    """

    def __init__(self, code: int, reason: str, library_message: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.library_message = library_message


class DbmDatabase:
    """The pairs of a DBM file, in the file's order; *kind* is the argument of -T or -f.  Raises DbmError."""

    def __init__(self, path: str, kind: str, create: bool = False, write: bool = True) -> None:
        driver = _DRIVERS.get(kind.upper())
        if driver is None:
            raise DbmError(20019, "DSO load failed")
        self.is_sdbm = driver == "SDBM"
        self._paths = [to_bytes(path) + suffix for suffix in ((b".pag", b".dir") if self.is_sdbm else (b"",))]
        self.pairs: dict[bytes, bytes] = {}
        try:
            self._load(create, write)
        except OSError as problem:
            raise self._failure(problem.errno or 0) from None
        except bdb.Damaged:
            library_message = f"BDB0004 fop_read_meta: {path}: unexpected file type or format\n"
            raise DbmError(_USER_ERROR + _INVALID, UNKNOWN, library_message * 2) from None

    def _load(self, create: bool, write: bool) -> None:
        contents = []
        for path in reversed(self._paths):
            flags = os.O_RDWR if write else os.O_RDONLY
            with open(
                os.open(path, flags | (os.O_CREAT if create else 0), 0o666 if self.is_sdbm else 0o777), "rb"
            ) as file:
                contents.append(file.read())
        if self.is_sdbm:
            self.pairs = dict(sdbm.pairs(contents[-1]))
        elif contents[0]:
            self.pairs = dict(bdb.pairs(contents[0]))
        elif create:
            self.save()
        else:
            raise bdb.Damaged

    def put(self, key: bytes, value: bytes) -> None:
        """Store a pair; a replaced one moves to the end.  Raises DbmError for a pair that SDBM cannot
        hold.
        """
        if self.is_sdbm and not (key and len(key) + len(value) <= sdbm_writer.MAX_PAIR):
            raise DbmError(_INVALID, os.strerror(_INVALID))
        self.pairs.pop(key, None)
        self.pairs[key] = value

    def save(self) -> None:
        """Write the files.  Raises DbmError."""
        try:
            if self.is_sdbm:
                contents = list(sdbm_writer.files(self.pairs.items()))
            else:
                contents = [bdb_writer.data_of(self.pairs)]
            for path, content in zip(self._paths, contents, strict=True):
                write_named(path, content)
        except sdbm_writer.Full:
            raise DbmError(_INVALID, os.strerror(_INVALID)) from None
        except OSError as problem:
            raise self._failure(problem.errno or 0) from None

    def _failure(self, errno: int) -> DbmError:
        return DbmError(errno, os.strerror(errno)) if self.is_sdbm else DbmError(_USER_ERROR + errno, UNKNOWN)
