"""A variable that is unique to a request is built at its first read, once for a request and all its
sub-requests.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.cache_site import cached_entry, exchange
from tests.support.site import MTIME

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.deps.files import Dependencies
from whimbrel.engine.engine import Engine
from whimbrel.engine.env import LazyEnv, append, uncover
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.fake_runtime import FakeRuntime

ID = {V24: r"[A-Za-z0-9_-]{27}", V22: r"[A-Za-z0-9@-]{24}"}
HEAD = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"


def variables(files: Dependencies) -> LazyEnv:
    given = iter("one two three".split())
    return LazyEnv({"A": "b"}, files, lambda second, address: f"{next(given)} {second} {address}", 7, "::1")


def test_nobody_asked() -> None:
    files = Dependencies()
    table = variables(files)
    table["C"] = "d"
    table.pop("A")
    table.update({"E": "f"})
    assert (table.get("c"), table.get("none"), "UNIQUE_ID" in table, len(table), bool(table)) == (
        "d",
        None,
        True,
        3,
        True,
    )
    assert not files.is_per_request


@pytest.mark.parametrize("name", ["UNIQUE_ID", "unique_id"])
def test_it_is_made_once(name: str) -> None:
    files = Dependencies()
    table = variables(files)
    child = table.copy()
    assert [child.get(name), table.get(name), table["UNIQUE_ID"], table.copy()["UNIQUE_ID"]] == [
        "one 7 ::1"
    ] * 4
    assert files.is_per_request
    assert dict(table.items()) == {"A": "b", "UNIQUE_ID": "one 7 ::1"}
    assert table.for_request(Dependencies(), 9)["UNIQUE_ID"] == "two 9 ::1"


def test_whoever_looks_at_all_sees_it() -> None:
    for look in (
        lambda t: list(t),
        lambda t: list(t.keys()),
        lambda t: list(t.values()),
        lambda t: list(t.items()),
        lambda t: list({**t}),
    ):
        files = Dependencies()
        assert len(look(variables(files))) == 2
        assert files.is_per_request


def test_appended_and_away() -> None:
    r = SimpleNamespace(env=variables(Dependencies()), hidden_env=None)
    append(r, {"a": "x", "Z": "y"})
    assert list(r.env.items()) == [("A", "b"), ("UNIQUE_ID", "one 7 ::1"), ("Z", "y")]
    uncover(r)
    assert list(r.env.items()) == [("A", "x"), ("UNIQUE_ID", "one 7 ::1"), ("Z", "y")]
    table = r.env
    table.pop("UNIQUE_ID", None)
    assert ("UNIQUE_ID" in table, table.get("UNIQUE_ID"), len(table)) == (False, None, 2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("htdocs/a.txt", "htdocs/sub/index.html", "conf/mime.types", "logs/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text/plain txt\n")
        os.utime(tmp_path / name, (MTIME, MTIME))
    return tmp_path


def engine(root: Path, more: str, dialect: Dialect = V24) -> Engine:
    names = "mime dir env setenvif headers unique_id log_config" + (
        " mpm_event authz_core" if dialect is V24 else ""
    )
    loads = "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in names.split())
    text = f"{loads}Listen 127.0.0.1:8080\nServerName localhost\n"
    text += f'DocumentRoot "{root}/htdocs"\nCustomLog logs/access_log "%{{UNIQUE_ID}}e %>s"\n{more}'
    (root / "conf/httpd.conf").write_text(text)
    return Engine(load(LoadOptions(server_root=str(root)), ALL, dialect), FakeRuntime())


@pytest.mark.parametrize("more", ["", "SetEnv A b\n", "SetEnvIf None x y\nSetEnvIf A b c\n"])
@pytest.mark.parametrize("dialect", [V24, V22])
@pytest.mark.parametrize("path", ["/a.txt", "/sub/", "/sub/?x"])
def test_kept_answers_have_ids_of_their_own(root: Path, more: str, dialect: Dialect, path: str) -> None:
    """Cached responses have different values of it in the access log; the file shows that they are cached."""
    serving = engine(root, more, dialect)
    lines = [exchange(serving, path, [f"Cookie: {number}"])[1][0].rstrip("\n") for number in range(4)]
    assert all(re.fullmatch(ID[dialect] + " 200", line) for line in lines), lines
    assert len(set(lines)) == 4
    if path == "/a.txt":
        assert cached_entry(serving, Connection("127.0.0.1", 5000, "127.0.0.1", 8080), HEAD) is not None


def test_an_answer_that_tells_its_id_is_not_kept(root: Path) -> None:
    serving = engine(root, "Header set X-Id %{UNIQUE_ID}e\n")
    for _ in range(3):
        answer, lines = exchange(serving, "/a.txt", [])
        found = re.search(r"\r\nX-Id: (\S+)\r\n", answer)
        assert found is not None and lines == [f"{found[1]} 200\n"]
    assert cached_entry(serving, Connection("127.0.0.1", 5000, "127.0.0.1", 8080), HEAD) is None


def test_the_last_value_of_a_name_reaches_programs_and_redirects() -> None:
    """A lookup finds the first value, a program the last one at the position of the first; a value that was
    set meanwhile stays.
    """
    r = SimpleNamespace(env={"A": "setenvif", "B": "setenvif"}, hidden_env=None)
    append(r, {"C": "setenv", "a": "setenv", "B": "setenv"})
    assert r.env == {"A": "setenvif", "B": "setenvif", "C": "setenv"}
    r.env["B"] = "later"
    uncover(r)
    assert list(r.env.items()) == [("A", "setenv"), ("B", "later"), ("C", "setenv")]
    assert r.hidden_env is None
