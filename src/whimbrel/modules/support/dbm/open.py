"""DBM files of users and groups: own readers of SDBM, Berkeley DB and GDBM; NDBM if Python's library has it.

Manual: AuthDBMType, AuthzDBMType.  A file is read whole when its stat changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from os import strerror
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.engine.deps.files import StatSignature, is_settled_file, stat_signature
from whimbrel.modules.support.auth.auth_files import Unreadable, Verifier
from whimbrel.modules.support.dbm import bdb, gdbm, sdbm

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

Pairs = Iterator[tuple[bytes, bytes]]
_NO_DRIVER: Final = (20019, "DSO load failed")
# APR_OS_START_USERERR: base of the drivers' error numbers: the system's (Berkeley DB) or GDBM's
_USER_ERROR: Final = 120000
_GDBM_NO_FILE: Final = 3
_GDBM_NO_DATABASE: Final = 7
_UNKNOWN: Final = "APR does not understand this error code"


class DbmUnreadable(Unreadable):
    """The file cannot be opened; *code* and *reason* are those of httpd's log."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code)
        self.reason = reason

    @property
    def cause(self) -> str:
        """The reason as in Unreadable, from the driver."""
        return f"({self.errno}){self.reason}"


class DbmFile:
    """The file named by a directive, of the type that the type directive sets ("" is the default)."""

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind
        self._marks: tuple[StatSignature, ...] | None = None
        self._content: dict[str, str] = {}
        self.verifier = Verifier()
        low = kind.lower()
        if low in ("default", "db"):
            self._driver = "db"
        elif low in ("sdbm", "gdbm", "ndbm"):
            self._driver = low
        else:
            self._driver = ""

    def content(self, r: Request) -> dict[str, str]:
        """Return the current keys and values (C strings: up to the first NUL); raises DbmUnreadable."""
        suffixes = {"sdbm": (".dir", ".pag"), "ndbm": (".db",)}.get(self._driver, ("",))
        seen: list[StatSignature] = []
        is_lasting = True
        for suffix in suffixes:
            info = r.deps.stat(self.path + suffix)
            if info is None:
                raise self._failure(r.deps.errno or 2)
            seen.append(stat_signature(info))
            is_lasting = is_lasting and is_settled_file(info)
        if self._marks != tuple(seen):
            try:
                self._content = self.entries()
            except DbmUnreadable:
                r.set_uncacheable()
                raise
            self._marks = tuple(seen) if is_lasting else None
            self.verifier = Verifier()
        return self._content

    def entries(self) -> dict[str, str]:
        """Return the keys and values that the file has at present; raises DbmUnreadable."""
        return {to_text(key): to_text(value.partition(b"\0")[0]) for key, value in self._read()}

    def _failure(self, errno: int, *, damaged: bool = False) -> DbmUnreadable:
        if not self._driver or (self._driver == "ndbm" and find_spec("_dbm") is None):
            return DbmUnreadable(*_NO_DRIVER)
        if self._driver == "gdbm":
            return DbmUnreadable(_USER_ERROR + (_GDBM_NO_DATABASE if damaged else _GDBM_NO_FILE), _UNKNOWN)
        return (
            DbmUnreadable(_USER_ERROR + errno, _UNKNOWN)
            if self._driver == "db"
            else DbmUnreadable(errno, strerror(errno))
        )

    def _read(self) -> list[tuple[bytes, bytes]]:
        reader: Callable[[bytes], Pairs] | None = {
            "sdbm": sdbm.pairs,
            "db": bdb.pairs,
            "gdbm": gdbm.pairs,
        }.get(self._driver)
        if reader is None:
            return self._by_library()
        try:
            suffix = b".pag" if self._driver == "sdbm" else b""
            return list(reader(read_regular(to_bytes(self.path) + suffix)))
        except OSError as problem:
            raise self._failure(problem.errno or 2) from None
        except bdb.Damaged:
            raise self._failure(22, damaged=True) from None

    def _by_library(self) -> list[tuple[bytes, bytes]]:
        try:
            library: Any = import_module({"ndbm": "dbm.ndbm"}.get(self._driver, ""))
        except (ImportError, ValueError):
            raise DbmUnreadable(*_NO_DRIVER) from None
        try:
            with library.open(to_bytes(self.path), "r") as file:
                return [(key, file[key]) for key in file.keys()]
        except OSError as problem:
            raise self._failure(problem.errno or 22) from None
