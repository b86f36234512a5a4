"""Drivers of mod_dbd: SQLite by the standard library, PostgreSQL by psycopg 3, MySQL and MariaDB by PyMySQL.

A driver is a function of a `Query`: it opens a connection, runs the statements and closes it.  It takes
little longer than `_CONNECT` and `_QUERY_TIMEOUT` together; a database that does not respond is a failed
query.  The packages are imported when a query needs them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import quote

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import split

_CONNECT: Final = 5  # seconds to connect, or to wait for another connection's lock
_QUERY_TIMEOUT: Final = 10.0  # seconds after which a query is cancelled
_STEPS: Final = 10_000  # instructions of SQLite's virtual machine between two checks of the clock
_PLACE: Final = re.compile(r"%(%|pD[a-z]|(?:hh?|ll?)?[a-zA-Z])")
_PACKAGES: Final = {"pgsql": ("psycopg", "pgsql"), "mysql": ("pymysql", "mysql")}  # driver -> package, extra
Row = tuple[str | None, ...]


class DatabaseError(Exception):
    """A query failed; *connected*: there was a connection."""

    def __init__(self, reason: str, *, connected: bool) -> None:
        super().__init__(reason)
        self.connected = connected


@dataclass(frozen=True, slots=True)
class Query:
    """DBDParams, a connection's first statements, the statement with APR's ``%s``, its values."""

    params: str
    first: tuple[str, ...]
    statement: str
    values: tuple[str, ...]

    def prepared(self, mark: str) -> tuple[str, list[str]]:
        """Return the statement with *mark* for each value, and as many values as it has marks.

        The mark is ``?`` or ``%s``; with the latter a percent sign stays doubled.
        """
        percent = "%%" if mark == "%s" else "%"
        sql = _PLACE.sub(lambda m: percent if m[1] == "%" else mark, self.statement)
        count = sum(m[1] != "%" for m in _PLACE.finditer(self.statement))
        if count > len(self.values):
            raise DatabaseError(f"the statement wants {count} values", connected=True)
        # Bytes that are not UTF-8 cannot be in a text value of the database.
        return sql, [to_bytes(value).decode("utf-8", "replace") for value in self.values[:count]]


@dataclass(frozen=True, slots=True)
class Result:
    """Names of the columns, all rows as text (None for NULL), and the number of changed rows."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    changed: int


def missing_package(driver: str) -> str:
    """Return the extra of Whimbrel that *driver* lacks; "" if its package is installed."""
    package, extra = _PACKAGES.get(driver, ("", ""))
    return extra if package and find_spec(package) is None else ""


def _result(cursor: Any, rows: Iterable[Any]) -> Result:
    names = tuple(str(column[0]) for column in cursor.description or ())
    return Result(
        names, tuple(tuple(_shown(value) for value in row) for row in rows), max(cursor.rowcount, 0)
    )


def _shown(value: object) -> str | None:
    if value is None:
        return None
    return (
        to_text(value) if isinstance(value, bytes) else to_text(str(value).encode("utf-8", "surrogateescape"))
    )


# SQLite -------------------------------------------------------------------------------------------
def query_sqlite(query: Query) -> Result:
    """Run a query; the parameter is the file's path, and a missing file is an error, never created."""
    import sqlite3

    try:
        place = f"file:{quote(to_bytes(query.params))}?mode=rw"
        connection = sqlite3.connect(place, uri=True, timeout=_CONNECT, isolation_level=None)
    except sqlite3.Error as problem:
        raise DatabaseError(str(problem), connected=False) from None
    try:
        connection.text_factory = bytes
        end = time.monotonic() + _QUERY_TIMEOUT
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        for line in query.first:
            connection.execute(line)
        cursor = connection.execute(*query.prepared("?"))
        return _result(cursor, cursor)
    except (sqlite3.Error, sqlite3.Warning) as problem:
        raise DatabaseError(str(problem), connected=True) from None
    finally:
        connection.close()


# PostgreSQL ---------------------------------------------------------------------------------------
def query_pgsql(query: Query) -> Result:
    """Run a query; the parameters are libpq's, ``host=... dbname=...`` or a URI."""
    import psycopg

    try:
        connection = psycopg.connect(
            query.params, connect_timeout=_CONNECT, autocommit=True, client_encoding="utf8"
        )
    except (psycopg.Error, UnicodeError, ValueError) as problem:
        raise DatabaseError(_one_line(problem), connected=False) from None
    cut = _CutOff(connection.pgconn.socket)
    try:
        with connection.cursor() as cursor:
            for line in query.first:
                cursor.execute(_bytes(line))
            sql, values = query.prepared("%s")
            cursor.execute(_bytes(sql), values)
            return _result(cursor, _as_sent(cursor.pgresult))
    except (psycopg.Error, UnicodeError, ValueError) as problem:
        raise DatabaseError(_one_line(problem), connected=True) from None
    finally:
        cut.stop()
        connection.close()


def _as_sent(result: Any) -> Iterable[Any]:
    """Yield the rows as PostgreSQL prints them: true is ``t``."""
    for row in range(result.ntuples if result is not None else 0):
        yield [result.get_value(row, column) for column in range(result.nfields)]


def _bytes(statement: str) -> Any:
    return to_bytes(statement)


class _CutOff:
    """A watchdog that closes a connection after `_QUERY_TIMEOUT` seconds and so frees its thread."""

    def __init__(self, descriptor: int) -> None:
        import socket

        self._socket = socket.fromfd(descriptor, socket.AF_UNIX, socket.SOCK_STREAM)
        self._timer = threading.Timer(_QUERY_TIMEOUT, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def _cut(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(2)

    def stop(self) -> None:
        """Cancel the watchdog: the query has finished."""
        self._timer.cancel()
        self._socket.close()


# MySQL and MariaDB --------------------------------------------------------------------------------
_PAIR: Final = re.compile(r"(?<!\w)(\w++)\s*+=\s*([^ \r\n\t;|,]*)", re.ASCII)
_NAMES: Final = {
    "host": "host",
    "user": "user",
    "pass": "password",
    "dbname": "database",
    "port": "port",
    "sock": "unix_socket",
    "group": "read_default_group",
    "ssl_key": "ssl_key",
    "ssl_cert": "ssl_cert",
    "ssl_ca": "ssl_ca",
}


def mysql_options(params: str) -> dict[str, Any]:
    """Return PyMySQL's options for apr_dbd_mysql's ``host=... user=... pass=...``; raises ValueError."""
    options: dict[str, Any] = {}
    for name, value in _PAIR.findall(params):
        option = _NAMES.get(name.lower())
        if option is not None and value:
            options[option] = int(value) if option == "port" else to_bytes(value).decode("utf-8", "replace")
    return options


def query_mysql(query: Query) -> Result:
    """Run a query; the parameters are apr_dbd_mysql's, see `mysql_options`."""
    import pymysql

    try:
        connection = pymysql.connect(
            **mysql_options(query.params),
            charset="utf8mb4",
            use_unicode=False,
            autocommit=True,
            connect_timeout=_CONNECT,
            read_timeout=int(_QUERY_TIMEOUT) or 1,
            write_timeout=int(_QUERY_TIMEOUT) or 1,
            client_flag=_FOUND_ROWS,
        )
    except (pymysql.Error, OSError, ValueError) as problem:
        raise DatabaseError(_one_line(problem), connected=False) from None
    try:
        with connection.cursor() as cursor:
            for line in query.first:
                cursor.execute(line)
            sql, values = query.prepared("%s")
            cursor.execute(to_bytes(sql).decode("utf-8", "replace"), values)
            return _result(cursor, cursor.fetchall() if cursor.description else ())
    except (pymysql.Error, OSError, ValueError, TypeError) as problem:
        raise DatabaseError(_one_line(problem), connected=True) from None
    finally:
        with suppress(Exception):
            connection.close()


_FOUND_ROWS: Final = 2  # an UPDATE counts the rows that it matched, as in apr_dbd_mysql


def _one_line(problem: Exception) -> str:
    words = str(problem.args[-1] if problem.args else problem)  # PyMySQL puts a number before the text
    return to_text(" ".join(split(words)).encode("utf-8", "replace"))


DRIVERS: Final[dict[str, Callable[[Query], Result]]] = {
    "sqlite3": query_sqlite,
    "pgsql": query_pgsql,
    "mysql": query_mysql,
}
# Modules that the drivers import, also indirectly for a network connection.
LIBRARIES: Final = {
    "sqlite3": ("sqlite3",),
    "pgsql": ("psycopg", "encodings.idna"),
    "mysql": ("pymysql", "encodings.idna"),
}
