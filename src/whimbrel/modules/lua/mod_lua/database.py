"""Databases of scripts: r:dbacquire (lua_dbd.c), over the drivers of mod_dbd."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.modules.database.dbd_drivers import DRIVERS, DatabaseError, Query, Result
from whimbrel.modules.database.mod_dbd import DbdServerConfig
from whimbrel.modules.lua.mod_lua.arguments import CallArguments, lua_text, to_integer

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.lua.mod_lua.request_api import RequestApi

NO_MODULE: Final = "mod_dbd doesn't seem to have been loaded."
NO_CONNECTION: Final = (
    "Could not acquire connection from mod_dbd. If your database is running, this may indicate a permission "
    "problem."
)
NO_DRIVER: Final = 20019  # APR_EDSOOPEN
CLOSED: Final = "Database connection seems to be closed, please reacquire it."


def acquire(api: RequestApi, words: CallArguments) -> Any:
    """Return a database, or nil and a message."""
    kind = words.text(1) if len(words) else "mod_dbd"
    if kind == "mod_dbd":
        if not api.r.plan.loaded("dbd_module"):
            return None, NO_MODULE
        conf = api.r.server_conf(DbdServerConfig)
        if conf.driver not in DRIVERS or not conf.params:
            api.log("error", "not configured", "AH02654")
            return None, NO_CONNECTION
        return Database(api, conf.driver, conf.params, conf.statements).table()
    if kind not in DRIVERS:
        return None, f"can't find driver for {kind}", NO_DRIVER
    if len(words) < 2 or not words.text(2):
        return None, "No database connection string was specified."
    return Database(api, kind, words.text(2), {}).table()


class Database:
    """A database of a script: each statement has a connection of its own, as in mod_dbd here."""

    def __init__(self, api: RequestApi, driver: str, params: str, statements: dict[str, str]) -> None:
        self._driver = DRIVERS[driver]
        self._api = api
        self._params = params
        self._statements = statements
        self._is_open = True

    def table(self) -> Any:
        """Return the table of methods."""
        methods = {
            "active": lambda *_: self._is_open,
            "close": self._close,
            "escape": lambda _self, _r, text: lua_text(text).replace("'", "''"),
            "prepare": lambda _self, _r, text: self._prepared(lua_text(text)),
            "prepared": self._by_label,
            "query": lambda _self, _r, text: self._count(lua_text(text), ()),
            "select": lambda _self, _r, text: self._rows(lua_text(text), ()),
        }
        return self._api.machine.table(methods)

    def _close(self, *_arguments: Any) -> bool:
        self._is_open = False
        return True

    def _run(self, statement: str, values: tuple[str, ...]) -> Result | str:
        if not self._is_open:
            return CLOSED
        try:
            return self._driver(Query(self._params, (), statement, values))
        except DatabaseError as problem:
            return str(problem)

    def _count(self, statement: str, values: tuple[str, ...]) -> Any:
        result = self._run(statement, values)
        return (None, result) if isinstance(result, str) else result.changed

    def _rows(self, statement: str, values: tuple[str, ...]) -> Any:
        result = self._run(statement, values)
        return (None, result) if isinstance(result, str) else self._fetcher(result)

    def _fetcher(self, result: Result) -> Callable[..., Any]:
        """Return the function of a result set: 0 for all rows, -1 for the next one, N for row N."""
        at = 0
        make = self._api.machine.table

        def row(values: Any, by_name: bool) -> Any:
            pairs = enumerate(values, 1) if not by_name else zip(result.names, values, strict=True)
            return make({name: value for name, value in pairs if value is not None})

        def fetch(number: Any = 0, by_name: Any = False) -> Any:
            nonlocal at
            wanted = to_integer(number) or 0
            if wanted == 0:
                return make([row(values, bool(by_name)) for values in result.rows])
            index = at if wanted < 0 else wanted - 1
            if index >= len(result.rows):
                return None
            at = index + 1
            return row(result.rows[index], bool(by_name))

        return fetch

    def _by_label(self, _self: object, _r: Request, label: Any) -> Any:
        statement = self._statements.get(lua_text(label))
        if not statement:
            return None, f"Could not find any prepared statement called {lua_text(label)}!"
        return self._prepared(statement)

    def _prepared(self, statement: str) -> Any:
        wanted = statement.replace("%%", "").count("%")

        def values_of(given: tuple[Any, ...]) -> tuple[str, ...] | str:
            if len(given) != wanted:
                return (
                    f"Error in executing prepared statement: Expected {wanted} arguments, got {len(given)}."
                )
            return tuple(map(lua_text, given))

        def select(_self: object, *given: Any) -> Any:
            values = values_of(given)
            return (None, values) if isinstance(values, str) else self._rows(statement, values)

        def query(_self: object, *given: Any) -> Any:
            values = values_of(given)
            return (None, values) if isinstance(values, str) else self._count(statement, values)

        return self._api.machine.table({"select": select, "query": query})
