"""Rewrite maps. Expected values are those of the recorded map file and of the running server."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.engine.engine import Engine
from whimbrel.modules.mappers.mod_rewrite.maps import parse_text
from whimbrel.modules.mappers.mod_rewrite.program_map import MapProgram

LOAD = "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"
MAP = (
    "# map\none  /a.txt\ntwo /d/x.txt extra words\nthree\tb.html\nfour   \n  five /d/\nUPPER /up\na.b "
    "dotted\n\none second\n"
)


def test_text_maps() -> None:
    assert parse_text(MAP) == {
        "one": "/a.txt",
        "two": "/d/x.txt",
        "three": "b.html",
        "UPPER": "/up",
        "a.b": "dotted",
    }


def value(root: Path, line: str, use: str, path: str, files: dict[str, str] | None = None) -> str | None:
    conf = f"{LOAD}RewriteMap m {line}\nRewriteRule ^/m/(.*)$ http://e.test/?v={use} [R,NE]\n"
    location = fetch(build_engine(root, conf, {"conf/map.txt": MAP, **(files or {})}), path).get("Location")
    return location and location.removeprefix("http://e.test/").removeprefix("?v=")


@pytest.mark.parametrize(
    ("line", "use", "key", "found"),
    [
        ("txt:conf/map.txt", "${m:$1}", "two", "/d/x.txt"),
        ("txt:conf/map.txt", "${m:$1|none}", "five", "none"),
        ("txt:conf/map.txt", "${m:$1|none}", "four", "none"),
        ("txt:conf/map.txt", "${m:$1}", "upper", ""),
        ("conf/map.txt", "${m:$1}", "a.b", "dotted"),
        ("int:toupper", "${m:$1}", "aBc", "ABC"),
        ("int:tolower", "${m:$1}", "AbC", "abc"),
        ("int:escape", "${m:$1}", "%c3%a9%22", "%c3%a9%22"),
        ("int:unescape", "${m:$1}", "a%2525b", "a%b"),
        ("int:tolower", "${x:$1}-${m:${m:$1}|y}", "Q", "-q"),
        ("rnd:conf/map.txt", "${m:$1}", "one", "/a.txt"),
    ],
)
def test_values(tmp_path: Path, line: str, use: str, key: str, found: str) -> None:
    assert value(tmp_path, line, use, f"/m/{key}") == found


def test_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path,
        f"{LOAD}RewriteMap m txt:conf/map.txt\nRewriteRule ^/m/(.*)$ http://e.test/${{m:$1}} [R]\n",
        {"conf/map.txt": MAP},
    )
    assert fetch(serving, "/m/three").get("Location") == "http://e.test/b.html"
    (tmp_path / "conf/map.txt").write_text("three c\n")
    os.utime(tmp_path / "conf/map.txt", (5, 5))
    assert fetch(serving, "/m/three").get("Location") == "http://e.test/c"


PROGRAM = (
    '#!/bin/sh\nwhile read -r k; do case "$k" in bad*) echo NULL;; end) exit;; hang) sleep 9;; *) echo '
    '"got=$k";; esac; done\n'
)


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (["hey", "you"], ["got=hey", "got=you"]),
        (["bad", "a%0ab", "x"], ["none", "none", "got=x"]),
        (["end", "x"], ["", ""]),
    ],
)
def test_programs(tmp_path: Path, keys: list[str], found: list[str]) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/prg.sh").write_text(PROGRAM)
    os.chmod(tmp_path / "conf/prg.sh", 0o755)
    conf = f"{LOAD}RewriteMap m prg:conf/prg.sh\nRewriteRule ^/m/(.*)$ http://e.test/${{m:$1|none}} [R]\n"
    serving = build_engine(tmp_path, conf)
    assert [
        (fetch(serving, f"/m/{key}").get("Location") or "").removeprefix("http://e.test/") for key in keys
    ] == found


def test_a_program_that_has_ended_is_not_started_again(tmp_path: Path) -> None:
    """mod_rewrite.c: run_rewritemap_programs is called at the start alone."""
    program = MapProgram(["/bin/sh", "-c", "read line; echo $$; exit"], str(tmp_path))
    found = [program.lookup("a", 9) for _ in range(3)]
    assert found[0] and found[1:] == ["", ""]
    assert program.ended(int(found[0])) is False
    program.release(at_once=True)


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/prg.sh").write_text(PROGRAM.replace("sleep 9", "exec sleep 9"))
    os.chmod(tmp_path / "conf/prg.sh", 0o755)
    conf = (
        f"Timeout 1\n{LOAD}RewriteMap m prg:conf/prg.sh\nRewriteRule ^/m/(.*)$ http://e.test/${{m:$1|none}} "
        "[R]\n"
    )
    assert fetch(build_engine(tmp_path, conf), "/m/hang").get("Location") == "http://e.test/none"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("m foo:bar", "RewriteMap: file for map m not found:@/foo:bar"),
        ("m int:nope", "RewriteMap: internal map not found:nope"),
        ("m txt:/no/such", "RewriteMap: file for map m not found:/no/such"),
        ("m dbm=x:y", "RewriteMap: dbm type x is invalid"),
        ("m dbd:q", "RewriteMap types dbd and fastdbd require mod_dbd!"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as problem:
        build_engine(tmp_path, f"{LOAD}RewriteMap {line}\n")
    assert problem.value.reason == reason.replace("@", str(tmp_path))


# Databases: values and lines as httpd 2.4.71 gives them with apr_dbd_sqlite3 --------------------
ROWS = (("one", "1"), ("null", None), ("empty", ""), ("many", "a"), ("many", "b"), ("sp", "x y"))


def database(root: Path, statement: str, kind: str = "dbd") -> Engine:
    (root / "conf").mkdir(exist_ok=True)
    with sqlite3.connect(root / "conf/db") as connection:
        connection.execute("create table if not exists t(k text, v text)")
        connection.executemany("insert into t values(?, ?)", ROWS)
    connection.close()
    conf = (
        "LoadModule dbd_module modules/mod_dbd.so\nDBDriver sqlite3\nDBDParams @/conf/db\nLogLevel "
        f"rewrite:trace8\n{LOAD}"
        f'RewriteMap m "{kind}:{statement}"\nRewriteRule ^/m/(.*)$ http://e.test/${{m:$1|none}} [R]\n'
    )
    return build_engine(root, conf)


def looked_up(serving: Engine, key: str) -> str:
    return (fetch(serving, f"/m/{key}").get("Location") or "").removeprefix("http://e.test/")


@pytest.mark.parametrize("kind", ["dbd", "fastdbd"])
@pytest.mark.parametrize(
    ("statement", "key", "found"),
    [
        ("SELECT v FROM t WHERE k = %s", "one", ["1"]),
        ("SELECT v FROM t WHERE k = %s", "no", ["none"]),
        ("SELECT v FROM t WHERE k = %s", "null", ["none"]),
        ("SELECT v FROM t WHERE k = %s", "empty", [""]),
        ("SELECT v FROM t WHERE k = %s", "many", ["a", "b"]),
        ("SELECT v FROM t WHERE k = %s", "sp", ["x%20y"]),
        ("SELECT k, v FROM t WHERE k = %s", "one", ["one"]),
        ("SELECT v FROM t WHERE k = %s", "a'b", ["none"]),
        ("SELECT v FROM nope WHERE k = %s", "one", ["none"]),
        ("SELECT v FROM t WHERE k = %s AND v = %s", "one", ["none"]),
        ("SELECT abs(-9223372036854775808) FROM t WHERE k = %s", "one", ["none"]),
    ],
)
def test_databases(tmp_path: Path, kind: str, statement: str, key: str, found: list[str]) -> None:
    assert looked_up(database(tmp_path, statement, kind), key) in found


@pytest.mark.parametrize(("kind", "second"), [("dbd", "changed"), ("fastdbd", "1")])
def test_a_database_is_queried_again_or_cached(tmp_path: Path, kind: str, second: str) -> None:
    serving = database(tmp_path, "SELECT v FROM t WHERE k = %s", kind)
    assert (looked_up(serving, "one"), looked_up(serving, "no")) == ("1", "none")
    with sqlite3.connect(tmp_path / "conf/db") as connection:
        connection.execute("update t set v = 'changed' where k = 'one'")
    connection.close()
    assert (looked_up(serving, "one"), looked_up(serving, "no")) == (second, "none")


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("SELECT v FROM t WHERE k = %s", "SQL map lookup OK: map m key=one, val=1"),
        (
            "SELECT v FROM nope WHERE k = %s",
            "AH02963: rewritemap: No db handle available! Check your database access",
        ),
        (
            "SELECT abs(-9223372036854775808) FROM t WHERE k = %s",
            "AH00657: rewritemap: error integer overflow querying for one",
        ),
        ("SELECT v FROM nope WHERE k = %s", "SQL map lookup FAILED: map m key=one"),
    ],
)
def test_what_is_logged_about_databases(tmp_path: Path, statement: str, line: str) -> None:
    serving = database(tmp_path, statement)
    looked_up(serving, "one")
    assert any(line.encode() in entry for entries in serving.runtime.logs.values() for entry in entries)


def test_a_map_of_a_database_wants_the_module(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="RewriteMap types dbd and fastdbd require mod_dbd!"):
        build_engine(tmp_path, f"{LOAD}RewriteMap m dbd:x\n")
