"""Users and groups in an SQLite file: responses of the installed httpd."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite

from whimbrel.modules.database import dbd_drivers
from whimbrel.modules.database.mod_dbd import environment_name

AREA = (
    "DBDriver sqlite3\nDBDParams @DOCROOT@/../conf/u.db\n<Location />\nAuthType Basic\nAuthName "
    "x\nAuthBasicProvider dbd\n"
    'AuthDBDUserPWQuery "SELECT password, mail FROM authn WHERE user = %s"\n{}</Location>\n'
)
GROUPS = 'AuthzDBDQuery "SELECT grp FROM g WHERE user = %s"\n'


def site_of(root: Path, body: str, version: str = "2.4") -> AccessSite:
    (root / "conf").mkdir()
    (root / "htdocs").mkdir()
    with sqlite3.connect(root / "conf/u.db") as data:
        data.executescript("""
            create table authn(user text, password text, mail text);
            insert into authn values('alice', '{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=', 'a@x'), ('nul', NULL, 'n');
            create table g(user text, grp text); insert into g values('alice', 'staff'), ('alice', 'Admin');
            create table s(user text, n int); insert into s values('alice', 0);
        """)
    data.close()
    more = " dbd authn_dbd authz_dbd" if version == "2.4" else " dbd authn_dbd"
    return AccessSite(root, AREA.format(body), version, MODULES[version] + more)


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("user", "status"),
    [("alice:wonder", 200), ("alice:x", 401), ("nul:x", 401), ("zed:x", 401), ("' or 1=1 --:x", 401)],
)
def test_users(tmp_path: Path, version: str, user: str, status: int) -> None:
    assert site_of(tmp_path, "Require valid-user\n", version).status(user=user) == status


@pytest.mark.parametrize(
    ("body", "status", "codes"),
    [
        (GROUPS + "Require dbd-group admin staff\n", 200, []),
        (GROUPS + "Require dbd-group admin\n", 401, ["AH01631"]),
        (GROUPS + 'Require dbd-group "staff"\n', 401, ["AH01631"]),
        ("Require dbd-group admin\n", 500, ["AH01649"]),
        ("Require dbd-login\n", 401, ["AH01642", "AH01631"]),
        (
            'AuthzDBDQuery "SELECT nothing FROM here WHERE user = %s"\nRequire dbd-group staff\n',
            500,
            ["AH01652"],
        ),
        ('AuthDBDUserPWQuery "SELECT nothing"\nRequire valid-user\n', 500, ["AH01656"]),
    ],
)
def test_groups_and_what_is_wrong(tmp_path: Path, body: str, status: int, codes: list[str]) -> None:
    site = site_of(tmp_path, body)
    assert (site.status(user="alice:wonder"), site.codes()) == (status, codes)


@pytest.mark.parametrize("content", [None, b"no database at all, but long enough to be read as one\n" * 40])
def test_a_file_that_is_none_lets_nobody_in(tmp_path: Path, content: bytes | None) -> None:
    site = site_of(tmp_path, "Require valid-user\n")
    (tmp_path / "conf/u.db").unlink()
    if content:
        (tmp_path / "conf/u.db").write_bytes(content)
    assert site.status(user="alice:wonder") == 500
    assert (tmp_path / "conf/u.db").exists() is bool(content)


def test_a_query_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbd_drivers, "_QUERY_TIMEOUT", 0.05)
    endless = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x = %s || 'no'"
    )
    site = site_of(tmp_path, f'AuthDBDUserPWQuery "{endless}"\nRequire valid-user\n')
    assert (site.status(user="alice:wonder"), site.codes()) == (500, ["AH01656"])


def test_a_login_changes_a_row_and_leads_on(tmp_path: Path) -> None:
    body = (
        'AuthzDBDQuery "UPDATE s SET n = n + 1 WHERE user = %s"\nAuthzDBDRedirectQuery "SELECT \'/to/\' || '
        'grp FROM g WHERE user = %s"\n'
        "Require dbd-login\n"
    )
    answer = site_of(tmp_path, body).fetch(user="alice:wonder")
    assert answer.startswith("HTTP/1.1 302 ") and "\r\nLocation: /to/staff\r\n" in answer
    with sqlite3.connect(tmp_path / "conf/u.db") as data:
        assert data.execute("select n from s").fetchall() == [(1,)]
    data.close()


def test_names_of_variables() -> None:
    assert environment_name("AUTHENTICATE_", "full-name") == "AUTHENTICATE_FULL_NAME"
