"""Databases of mod_dbd.  Fake modules replace the packages of PostgreSQL and MySQL and record the calls."""

from __future__ import annotations

import socket
import sqlite3
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.access_site import MODULES, AccessSite

from whimbrel.base.errors import ConfigError
from whimbrel.modules.database import dbd_drivers
from whimbrel.modules.database.dbd_drivers import (
    DatabaseError,
    Query,
    missing_package,
    mysql_options,
    query_mysql,
    query_pgsql,
    query_sqlite,
)


@pytest.mark.parametrize(
    ("statement", "mark", "sql", "values"),
    [
        ("a = %s and b > %lld", "?", "a = ? and b > ?", ["x", "7"]),
        ("a like 'b%%' and c = %s", "?", "a like 'b%' and c = ?", ["x"]),
        ("a like 'b%%' and c = %s", "%s", "a like 'b%%' and c = %s", ["x"]),
        ("d = %pDt", "%s", "d = %s", ["x"]),
        ("a", "?", "a", []),
    ],
)
def test_places_of_values(statement: str, mark: str, sql: str, values: list[str]) -> None:
    assert Query("", (), statement, ("x", "7")).prepared(mark) == (sql, values)


def test_too_few_values_are_no_query() -> None:
    with pytest.raises(DatabaseError):
        Query("", (), "%s %s", ("x",)).prepared("?")


@pytest.mark.parametrize(
    ("params", "options"),
    [
        (
            "host=127.0.0.1,port=3306;user=web pass=p1,dbname=d",
            {"host": "127.0.0.1", "port": 3306, "user": "web", "password": "p1", "database": "d"},
        ),
        ("sock = /run/m.sock | user=w\tflags=x", {"unix_socket": "/run/m.sock", "user": "w"}),
        ("", {}),
        ("pass=,user=u", {"user": "u"}),
    ],
)
def test_parameters_of_mysql(params: str, options: dict[str, Any]) -> None:
    assert mysql_options(params) == options


def test_sqlite_gives_text(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "d") as data:
        data.execute("create table t(a text, b integer, c blob)")
        data.execute("insert into t values('h\u00fc', 7, x'ff')")
    data.close()
    result = query_sqlite(
        Query(
            str(tmp_path / "d"),
            ("pragma user_version",),
            "select a, b, c, null from t where a = %s",
            ("h\xc3\xbc",),
        )
    )
    assert result.rows == (("h\xc3\xbc", "7", "\xff", None),)
    with pytest.raises(DatabaseError) as caught:
        query_sqlite(Query(str(tmp_path / "none"), (), "select 1", ()))
    assert not caught.value.connected and not (tmp_path / "none").exists()


class Cursor:
    """Records statements; returns one row."""

    description, rowcount = [("a",), ("b",)], 1

    def __init__(self, asked: list[Any], fails: type[Exception] | None) -> None:
        self._asked, self._fails = asked, fails
        self.pgresult = types.SimpleNamespace(
            ntuples=1, nfields=2, get_value=lambda _row, column: (b"h\xc3\xbc", None)[column]
        )

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def execute(self, statement: Any, values: Any = None) -> None:
        if self._fails is not None:
            raise self._fails(1146, "no such\n table")
        self._asked.append((statement, values))

    def fetchall(self) -> list[Any]:
        return [(b"h\xc3\xbc", None)]


class Package:
    """A fake of psycopg or pymysql."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.asked: list[Any] = []
        self.options: dict[str, Any] = {}
        self.closed = 0
        self.refuses = False
        self.fails: type[Exception] | None = None
        self.ends = socket.socketpair()
        self.module = types.ModuleType(name)
        self.module.Error = type("Error", (Exception,), {})  # type: ignore[attr-defined]
        self.module.connect = self.connect  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, self.module)

    def connect(self, *params: str, **options: Any) -> Any:
        if self.refuses:
            raise self.module.Error(1045, "Access denied")
        self.options = {**options, "params": params}
        pgconn = types.SimpleNamespace(socket=self.ends[0].fileno())
        return types.SimpleNamespace(
            cursor=lambda: Cursor(self.asked, self.fails), close=self.close, pgconn=pgconn
        )

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(params=[("psycopg", query_pgsql), ("pymysql", query_mysql)])
def package(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Package, Any]]:
    made = Package(monkeypatch, request.param[0])
    yield made, request.param[1]
    for end in made.ends:
        end.close()


QUERY = Query("host=h user=u", ("set x",), "select a from t where b like '%%' and c = %s", ("h\xc3\xbc",))


def test_a_query(package: tuple[Package, Any]) -> None:
    made, ask = package
    result = ask(QUERY)
    assert (result.names, result.rows, result.changed, made.closed) == (
        ("a", "b"),
        (("h\xc3\xbc", None),),
        1,
        1,
    )
    first, second = made.asked
    assert first[0] in (b"set x", "set x") and second[0] in (
        b"select a from t where b like '%%' and c = %s",
        "select a from t where b like '%%' and c = %s",
    )
    assert second[1] == ["h\u00fc"] and made.options["connect_timeout"] == 5


def test_no_connection(package: tuple[Package, Any]) -> None:
    made, ask = package
    made.refuses = True
    with pytest.raises(DatabaseError, match="^Access denied$") as caught:
        ask(QUERY)
    assert not caught.value.connected


def test_a_query_that_fails(package: tuple[Package, Any]) -> None:
    made, ask = package
    made.fails = made.module.Error
    with pytest.raises(DatabaseError, match="^no such table$") as caught:
        ask(QUERY)
    assert caught.value.connected and made.closed == 1


def test_a_server_that_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbd_drivers, "_QUERY_TIMEOUT", 0.05)
    here, there = socket.socketpair()
    with here, there:
        cut = dbd_drivers._CutOff(here.fileno())
        here.settimeout(5)
        assert here.recv(1) == b""  # the end, without a word from the peer
        cut.stop()


@pytest.mark.parametrize(("driver", "extra"), [("pgsql", "pgsql"), ("mysql", "mysql"), ("sqlite3", "")])
def test_packages_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str, extra: str
) -> None:
    monkeypatch.setattr(dbd_drivers, "find_spec", lambda name: None)
    assert missing_package(driver) == extra
    if extra:
        with pytest.raises(
            ConfigError,
            match=f"Can't load driver file apr_dbd_{driver}.so",
        ) as caught:
            AccessSite(tmp_path, f"DBDriver {driver}\n", "2.4", MODULES["2.4"] + " dbd")
        assert caught.value.reason.endswith(".so")  # as httpd says it
        assert caught.value.details[0].endswith(f"pip install 'whimbrel[{extra}]'")


def test_a_driver_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Can't load driver file apr_dbd_oracle\.so$"):
        AccessSite(tmp_path, "DBDriver oracle\n", "2.4", MODULES["2.4"] + " dbd")
