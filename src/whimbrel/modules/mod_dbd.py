"""mod_dbd: SQL databases for other modules; SQLite by the standard library.

Manual: mod/mod_dbd.html.  Queries run in a thread, each thread with a connection of its own; the pool's sizes are settings without an effect here.
A file that isn't there is an error, never made.
"""

from __future__ import annotations

import re
import sqlite3
import time
from dataclasses import dataclass
from typing import Any, Final

from whimbrel.directives.command import Command
from whimbrel.directives.spec import Args, Directive, Record, Versions, Where
from whimbrel.errors import ConfigError
from whimbrel.modules.setters import set_flag, set_text
from whimbrel.octets import raw, text
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import UNSET, overlaid, setting
from whimbrel.request.record import Request

DRIVERS: Final = ("sqlite3",)
_PATIENCE: Final = 5.0  # seconds that a query waits for another's lock
_LONGEST: Final = 10.0  # seconds after which a query is given up
_STEPS: Final = 10_000  # of SQLite's machine, between two looks at the clock
_PLACE: Final = re.compile(r"%(%|[a-zA-Z])")
Row = tuple[str | None, ...]


@dataclass(slots=True)
class DbdServer:
    """Per-server settings; *statements* are prepared ones by label."""

    driver: str = setting("")
    params: str = setting("")
    persist: bool = setting(True)
    statements: dict[str, str] = setting(make=dict, merge=overlaid)
    first: list[str] = setting(make=list)


class DatabaseError(Exception):
    """A query failed; *connected* tells whether there was a database to ask."""

    def __init__(self, reason: str, *, connected: bool) -> None:
        super().__init__(reason)
        self.connected = connected


@dataclass(frozen=True, slots=True)
class Result:
    """Names of the columns, all rows as text (None for NULL), and how many rows were changed."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    changed: int


async def ask(r: Request, statement: str, *values: str) -> Result:
    """Run *statement*, its ``%s`` filled with *values*, beside the loop; raises DatabaseError."""
    r.outside()
    settings = r.server_conf(DbdServer)
    if not settings.driver or not settings.params:
        raise DatabaseError("not configured", connected=False)
    path, first = settings.params, settings.first
    return await r.engine.runtime.in_thread(lambda: _run(path, first, statement, values))


def _run(path: str, first: list[str], statement: str, values: tuple[str, ...]) -> Result:
    try:
        connection = _open(path)
    except sqlite3.Error as problem:
        raise DatabaseError(str(problem), connected=False) from None
    try:
        connection.text_factory = text
        end = time.monotonic() + _LONGEST
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        for line in first:
            connection.execute(line)
        return _result(connection, statement, values)
    except (sqlite3.Error, sqlite3.Warning) as problem:
        raise DatabaseError(str(problem), connected=True) from None
    finally:
        connection.close()


def _open(path: str) -> sqlite3.Connection:
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(raw(path))}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None)


def _result(connection: sqlite3.Connection, statement: str, values: tuple[str, ...]) -> Result:
    sql = _PLACE.sub(lambda m: "%" if m[1] == "%" else "?", statement)
    # Bytes that are no UTF-8 can't be in a text value of the database.
    given = [raw(value).decode("utf-8", "replace") for value in values]
    cursor = connection.execute(sql, given[:sql.count("?")])
    names = tuple(column[0] for column in cursor.description or ())
    rows = tuple(tuple(None if value is None else value if isinstance(value, str) else _shown(value) for value in row) for row in cursor)
    return Result(names, rows, max(cursor.rowcount, 0))


def _shown(value: Any) -> str:
    return text(value) if isinstance(value, bytes) else str(value)


def environment_name(prefix: str, column: str) -> str:
    """The variable that a column goes into."""
    return prefix + re.sub(r"[^A-Z0-9]", "_", column.upper())


# directives ---------------------------------------------------------------------------------------
def set_driver(cmd: Command, record: DbdServer, words: list[str]) -> None:
    """DBDriver."""
    if words[0] not in DRIVERS:
        raise ConfigError(f"{'DBD: ' if cmd.dialect.access_in_core else ''}Can't load driver file apr_dbd_{words[0]}.so")
    record.driver = words[0]


def check_number(_cmd: Command, _record: DbdServer, words: list[str]) -> None:
    """The sizes of the pool: digits."""
    if not words[0].isdigit():
        raise ConfigError("Argument must be numeric!")


def prepare(_cmd: Command, record: DbdServer, words: list[str]) -> None:
    """DBDPrepareSQL STATEMENT LABEL."""
    label = words[1] if len(words) > 1 else words[0]
    record.statements = {**({} if record.statements is UNSET else record.statements), label: words[0] if len(words) > 1 else ""}


def add_first(_cmd: Command, record: DbdServer, words: list[str]) -> None:
    """DBDInitSQL: run on each new connection."""
    record.first = [*([] if record.first is UNSET else record.first), words[0]]


def _number(name: str, help: str) -> Directive[DbdServer]:
    return Directive(name=name, args=Args.TAKE1, where=Where.RSRC_CONF, record=Record.SERVER, apply=check_number, help=help)


MODULE = Module(
    name="dbd_module", source="mod_dbd.c", server_settings=DbdServer,
    directives=(
        Directive(name="DBDriver", args=Args.TAKE1, where=Where.RSRC_CONF, record=Record.SERVER, apply=set_driver, help="SQL Driver"),
        Directive(name="DBDParams", args=Args.TAKE1, where=Where.RSRC_CONF, record=Record.SERVER, apply=set_text("params"), help="SQL Driver Params"),
        Directive(name="DBDPersist", args=Args.FLAG, where=Where.RSRC_CONF, record=Record.SERVER, apply=set_flag("persist"),
                  help="Use persistent connection/pool"),
        Directive(name="DBDPrepareSQL", args=Args.TAKE12, where=Where.RSRC_CONF, record=Record.SERVER, apply=prepare,
                  help="SQL statement to prepare (or nothing, to override statement inherited from main server) and label"),
        Directive(name="DBDInitSQL", args=Args.TAKE1, where=Where.RSRC_CONF, record=Record.SERVER, apply=add_first, versions=Versions.V24,
                  help="SQL statement to be executed after connection is created"),
        _number("DBDMin", "Minimum number of connections"),
        _number("DBDKeep", "Maximum number of sustained connections"),
        _number("DBDMax", "Maximum number of connections"),
        _number("DBDExptime", "Keepalive time for idle connections"),
    ),
    providers=(Provider("dbd", "ask", ask),),
)
