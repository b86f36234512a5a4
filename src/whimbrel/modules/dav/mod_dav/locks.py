"""Locks of resources, in an SQLite file that all workers share (RFC 4918, 6 and 7).

A row is a direct lock.  A lock of infinite depth holds for everything below its path, so that members need no
rows, whether they exist or are created later.  Providers name resources by texts of their own (file names,
URLs), whose segments are separated by slashes.

A file that is no such database is never written: every use raises DavError, which names it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from time import time
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import lower
from whimbrel.base.programs import may_start_programs
from whimbrel.modules.dav.mod_dav.errors import DavError, ErrorId
from whimbrel.modules.dav.mod_dav.multistatus import quote

if TYPE_CHECKING:
    from sqlite3 import Connection

    from whimbrel.engine.request import Request

INFINITE: Final = 0  # as the time at which a lock expires
SCHEME: Final = "opaquelocktoken:"
_UUID = compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\Z")
_MAGIC: Final = b"SQLite format 3\0"
APPLICATION_ID: Final = 0x57444C31  # in the header of the file, "WDL1"
_BUSY: Final = 10.0  # seconds to wait for another worker's transaction
_APPLICATION_ID_AT: Final = 68
_COLUMNS: Final = "path, token, scope, kind, is_deep, expires, owner, user"
_SCHEMA: Final = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION_ID};
CREATE TABLE IF NOT EXISTS lock (
    path TEXT NOT NULL, parent TEXT NOT NULL, token TEXT PRIMARY KEY, scope INTEGER NOT NULL,
    kind INTEGER NOT NULL, is_deep INTEGER NOT NULL, expires INTEGER NOT NULL, owner TEXT, user TEXT);
CREATE INDEX IF NOT EXISTS lock_path ON lock (path);
CREATE INDEX IF NOT EXISTS lock_parent ON lock (parent);
COMMIT;
PRAGMA journal_mode = WAL;
"""
_STORES: Final = "dav lock databases"  # in Engine.worker_state
# locks in one database; with more, expired ones aside, LOCK is refused with 507
MAX_LOCKS: Final = 100_000
MAX_OWNER: Final = 16 * 1024  # bytes of <D:owner>
SUPPORTED: Final = "\n" + "".join(
    f"<D:lockentry>\n<D:lockscope><D:{scope}/></D:lockscope>\n<D:locktype><D:write/></D:locktype>\n"
    "</D:lockentry>\n"
    for scope in ("exclusive", "shared")
)


class LockScope(IntEnum):
    """<D:lockscope>; httpd grants a lock without one, which conflicts with all others."""

    UNKNOWN = 0
    EXCLUSIVE = 1
    SHARED = 2


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock.

    Attributes:
        path: the provider's name of the resource that LOCK was sent to.
        token: a UUID in lower case.
        is_write: <D:locktype> was write, the only type.
        is_deep: it holds for everything below.
        expires: seconds since the epoch, or INFINITE.
        owner: the <D:owner> element as XML, "" without one; `user`: who was authenticated.
    """

    path: str
    token: str
    scope: LockScope
    is_write: bool
    is_deep: bool
    expires: int
    owner: str
    user: str | None


def new_token() -> str:
    """Return a token that no other lock has."""
    return str(uuid.uuid4())


def parse_token(text: str) -> str:
    """Return the UUID of a lock token; raise DavError for another scheme or form."""
    if not text.startswith(SCHEME):
        raise DavError(
            400,
            "The lock token uses an unknown State-token format and could not be parsed.",
            ErrorId.LOCK_UNKNOWN_TOKEN,
        )
    if _UUID.match(text, len(SCHEME)) is None:
        raise DavError(
            400,
            "The opaquelocktoken has an incorrect format and could not be parsed.",
            ErrorId.LOCK_BAD_TOKEN,
        )
    return lower(text[len(SCHEME) :])


def active_locks(locks: Iterable[Lock]) -> str:
    """Return the <D:activelock> elements of *locks*."""
    names = {LockScope.UNKNOWN: "", LockScope.EXCLUSIVE: "<D:exclusive/>", LockScope.SHARED: "<D:shared/>"}
    return "".join(
        f"<D:activelock>\n<D:locktype>{'<D:write/>' * lock.is_write}</D:locktype>\n"
        f"<D:lockscope>{names[lock.scope]}</D:lockscope>\n"
        f"<D:depth>{'infinity' if lock.is_deep else '0'}</D:depth>\n{lock.owner}"
        f"<D:timeout>{_remaining(lock)}</D:timeout>\n"
        f"<D:locktoken>\n<D:href>{quote(SCHEME + lock.token)}</D:href>\n</D:locktoken>\n</D:activelock>\n"
        for lock in locks
    )


def _remaining(lock: Lock) -> str:
    return "Infinite" if lock.expires == INFINITE else f"Second-{max(0, lock.expires - int(time()))}"


def parents(path: str) -> list[str]:
    """Return the paths above *path*, the next one first; the root is ``/``."""
    out = []
    while path not in ("", "/"):
        path = path.rpartition("/")[0] or "/"
        out.append(path)
    return out


def is_foreign(path: str) -> bool:
    """Return True if the file *path* exists, is not empty and is no lock database of this server; raises
    OSError if it cannot be read.
    """
    try:
        head = read_start(to_bytes(path), _APPLICATION_ID_AT + 4)
    except FileNotFoundError:
        return False
    if not head:
        return False
    number = int.from_bytes(head[_APPLICATION_ID_AT:], "big")
    return head[: len(_MAGIC)] != _MAGIC or number not in (0, APPLICATION_ID)


def _prepare(connection: Connection) -> None:
    """Create the table in an empty database; raise sqlite3.DatabaseError for one of another program."""
    connection.execute("PRAGMA synchronous = NORMAL")
    if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
        return
    others = "SELECT 1 FROM sqlite_master WHERE name NOT LIKE 'lock%' AND name NOT LIKE 'sqlite%' LIMIT 1"
    if connection.execute(others).fetchone():
        from sqlite3 import DatabaseError

        raise DatabaseError("a database of another program")
    connection.executescript(_SCHEMA)


def _unusable(error: BaseException | None, errno: int) -> DavError:
    text = "Could not open database." if error is None else f"Could not open database: {error}."
    return DavError(500, text, 1, errno=errno).within(
        "Could not open the lock database.", error_id=ErrorId.LOCK_OPENING
    )


class LockStore:
    """The lock database *path* in one worker; "" is the path where *directive* has named none.

    A file without rows costs one look-up for each request; it is created by the first LOCK.
    """

    __slots__ = ("_connection", "_directive", "_identity", "path")

    def __init__(self, path: str, directive: str = "DAVLockDB") -> None:
        self.path = path
        self._directive = directive
        self._connection: Connection | None = None
        self._identity: tuple[int, int] | None = None

    # opening ------------------------------------------------------------------------------------------
    def check(self) -> None:
        """Raise DavError if no database is configured."""
        if not self.path:
            raise DavError(
                500,
                f"A lock database was not specified with the {self._directive} directive. One must be "
                "specified to use the locking functionality.",
                ErrorId.LOCK_NO_DATABASE,
            )

    def _open(self, *, create: bool) -> Connection | None:
        """Return the connection; None if the file does not exist and is not to be created."""
        self.check()
        if not may_start_programs():
            return None  # a tool has no part in the locks of a server, whose file may be httpd's own
        info = self._stat(create)
        identity = None if info is None else (info.st_dev, info.st_ino)
        if self._connection is not None:
            if identity == self._identity:
                return self._connection
            self.close()  # the file was replaced
        if info is None and not create:
            return None
        import sqlite3  # a check of a configuration needs no locks

        try:
            if is_foreign(self.path):
                raise _unusable(None, 22)
            connection = sqlite3.connect(
                os.fsdecode(to_bytes(self.path)),
                timeout=_BUSY,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                _prepare(connection)
            except BaseException:
                connection.close()  # the exception holds it for long: requests would add descriptors
                raise
        except (sqlite3.Error, OSError) as problem:
            raise _unusable(problem, getattr(problem, "errno", None) or 0) from None
        info = self._stat(True)
        self._connection = connection
        self._identity = None if info is None else (info.st_dev, info.st_ino)
        return connection

    def _stat(self, create: bool) -> os.stat_result | None:
        try:
            return os.stat(to_bytes(self.path))
        except FileNotFoundError:
            directory = self.path.rpartition("/")[0] or "/"
            if not create and os.path.isdir(to_bytes(directory)):
                return None
            if create and os.path.isdir(to_bytes(directory)):
                return None
            raise _unusable(None, 2) from None
        except OSError as problem:
            raise _unusable(None, problem.errno or 0) from None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._identity = None

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Run statements in one transaction, without locks that have expired."""
        import sqlite3

        connection = self._open(create=True)
        assert connection is not None
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(
                    "DELETE FROM lock WHERE expires != ? AND expires <= ?", (INFINITE, int(time()))
                )
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite may have rolled it back
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as problem:
            # a full disk has no room to open the file again
            if getattr(problem, "sqlite_errorcode", None) != sqlite3.SQLITE_FULL:
                self.close()
            raise DavError(500, f"{problem}.").within(
                "Could not save lock information.", error_id=ErrorId.LOCK_SAVING
            ) from None

    def _select(self, condition: str, values: Iterable[object]) -> list[Lock]:
        """Return the locks in force that meet *condition*, newest first."""
        import sqlite3

        connection = self._open(create=False)
        if connection is None:
            return []
        try:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM lock WHERE ({condition}) AND (expires = 0 OR expires > ?)"
                " ORDER BY rowid DESC",
                (*values, int(time())),
            ).fetchall()
        except sqlite3.Error as problem:
            self.close()
            raise _unusable(problem, 0) from None
        return [_lock(row) for row in rows]

    # reading ------------------------------------------------------------------------------------------
    def is_empty(self) -> bool:
        """Return True if there is no lock at all."""
        import sqlite3

        connection = self._open(create=False)
        if connection is None:
            return True
        try:
            return connection.execute("SELECT 1 FROM lock LIMIT 1").fetchone() is None
        except sqlite3.Error as problem:
            self.close()
            raise _unusable(problem, 0) from None

    def find(self, path: str) -> list[Lock]:
        """Return the locks that hold for *path*: its own, and deep ones above it."""
        if self.is_empty():
            return []
        above = parents(path)
        marks = ",".join("?" * len(above))
        return self._select(f"path = ? OR (is_deep AND path IN ({marks}))", (path, *above))

    def direct(self, path: str) -> list[Lock]:
        """Return the locks of LOCK requests to *path*."""
        return self._select("path = ?", (path,))

    def members(self, path: str) -> list[Lock]:
        """Return the locks of the members of *path*."""
        return self._select("parent = ?", (path,))

    def below(self, path: str) -> list[Lock]:
        """Return the locks below *path*, at any depth."""
        start = path.rstrip("/") + "/"
        return self._select("path >= ? AND path < ?", (start, start[:-1] + "0"))

    # writing ------------------------------------------------------------------------------------------
    def add(self, lock: Lock) -> None:
        """Store *lock*."""
        parent = parents(lock.path)[:1] or [""]
        if len(lock.owner) > MAX_OWNER:
            raise DavError(507, "The DAV:owner element is too large.")
        with self._writing() as connection:
            if connection.execute("SELECT count(*) FROM lock").fetchone()[0] >= MAX_LOCKS:
                raise DavError(507, "The lock database has reached its largest number of locks.")
            self._check_conflict(connection, lock)
            connection.execute(
                "INSERT INTO lock VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    lock.path,
                    parent[0],
                    lock.token,
                    lock.scope,
                    lock.is_write,
                    lock.is_deep,
                    lock.expires,
                    lock.owner,
                    lock.user,
                ),
            )

    @staticmethod
    def _check_conflict(connection: Connection, lock: Lock) -> None:
        """Raise DavError if a lock that excludes *lock* was granted since the request was validated."""
        above = parents(lock.path)
        start = lock.path.rstrip("/") + "/"
        condition = f"path = ? OR (is_deep AND path IN ({','.join('?' * len(above))}))"
        values: list[object] = [lock.path, *above]
        if lock.is_deep:
            condition += " OR (path >= ? AND path < ?)"
            values += [start, start[:-1] + "0"]
        rows = connection.execute(f"SELECT DISTINCT scope FROM lock WHERE {condition}", values).fetchall()
        found = {row[0] for row in rows}
        if LockScope.EXCLUSIVE in found or (found and lock.scope == LockScope.EXCLUSIVE):
            raise DavError(423, "Existing lock(s) on the requested resource prevent an exclusive lock.")

    def remove(self, token: str) -> None:
        """Remove one lock."""
        with self._writing() as connection:
            connection.execute("DELETE FROM lock WHERE token = ?", (token,))

    def remove_tree(self, path: str) -> None:
        """Remove the locks of *path* and of all below it."""
        if self.is_empty():
            return
        start = path.rstrip("/") + "/"
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM lock WHERE path = ? OR (path >= ? AND path < ?)", (path, start, start[:-1] + "0")
            )

    def refresh(self, path: str, tokens: Iterable[str], expires: int) -> list[Lock]:
        """Let those of *tokens* that hold for *path* expire at *expires*; return these locks."""
        wanted = set(tokens)
        found = [lock for lock in self.find(path) if lock.token in wanted]
        if found:
            with self._writing() as connection:
                connection.executemany(
                    "UPDATE lock SET expires = ? WHERE token = ?", [(expires, lock.token) for lock in found]
                )
        return [replace(lock, expires=expires) for lock in found]


def _lock(row: tuple[Any, ...]) -> Lock:
    path, token, scope, kind, is_deep, expires, owner, user = row
    return Lock(path, token, LockScope(scope), bool(kind), bool(is_deep), expires, owner or "", user)


def foreign_files(path: str) -> list[str]:
    """Return a message for each file in the place of the lock database *path* that another program wrote."""
    found = []
    try:
        if is_foreign(path):
            found.append(
                f"The lock database {path} was not written by this server. It is left as it is, and all "
                "requests that need locks fail: name another file with DavLockDB, or move this one away."
            )
    except OSError:
        pass  # the first request that needs it tells why
    found += [
        f"The lock database {path}{suffix} of httpd is not used: its locks are not in force."
        for suffix in (".pag", ".db")
        if os.path.exists(to_bytes(path + suffix))
    ]
    return found


def store_of(r: Request, path: str, directive: str) -> LockStore:
    """Return the lock database *path* in the worker of *r*."""
    stores: dict[tuple[str, str], LockStore] = r.engine.worker_state.setdefault(_STORES, {})
    store = stores.get((path, directive))
    if store is None:
        store = LockStore(path, directive)
        stores[path, directive] = store
    return store
