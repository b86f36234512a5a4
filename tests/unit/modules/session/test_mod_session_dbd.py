"""Sessions in a database, as the installed httpd stores them in an SQLite file."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite, session_fields

from whimbrel.base.errors import ConfigError

LOADED = MODULES["2.4"] + " dbd session session_dbd asis"
KEY = "11111111-2222-3333-4444-555555555555"
CONF = """DBDriver sqlite3
DBDParams @DOCROOT@/../conf/s.db
DBDPrepareSQL "delete from session where key = %s" deletesession
DBDPrepareSQL "update session set value = %s, expiry = %lld, key = %s where key = %s" updatesession
DBDPrepareSQL "insert into session (value, expiry, key) values (%s, %lld, %s)" insertsession
DBDPrepareSQL "select value from session where key = %s and (expiry = 0 or expiry > %lld)" selectsession
Session On
SessionHeader X-Sess
<Location />
SetHandler send-as-is
"""
COOKIE = "SessionDBDCookieName sid path=/\n"
USER = "SessionDBDPerUser On\nAuthType Basic\nAuthName x\nAuthUserFile conf/users\nRequire valid-user\n"


class Kept:
    """A site, its database, and the last response."""

    def __init__(self, root: Path, conf: str, header: str) -> None:
        (root / "conf").mkdir()
        self.path = root / "conf/s.db"
        with sqlite3.connect(self.path) as data:
            data.execute("create table session(key text primary key, value text, expiry integer)")
            data.execute(
                f"insert into session values('{KEY}', 'a=b', 0), ('alice', 'u=v', 0), ('old', 'o=p', 5)"
            )
        data.close()
        self.site = AccessSite(root, CONF + conf + "</Location>\n", "2.4", LOADED)
        (root / "htdocs/f.html").write_text(
            (f"X-Sess: {header}\n" if header else "") + "Content-Type: text/plain\n\nbody\n"
        )

    def fetch(self, cookie: str = "", user: str = "") -> str:
        return self.site.fetch(headers=f"Cookie: sid={cookie}\r\n" if cookie else "", user=user)

    def rows(self) -> list[tuple[str, str, str]]:
        data = sqlite3.connect(self.path)
        found = data.execute(
            "select key, value, expiry from session where key != 'old' order by rowid"
        ).fetchall()
        data.close()
        return [
            (mask(key), re.sub(r"\d{14,}", "N", value), "N" if expiry else "0")
            for key, value, expiry in found
        ]


def mask(text: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", lambda m: m[0] if m[0] == KEY else "KEY", text)


OLD, ALICE = (KEY, "a=b", "0"), ("alice", "u=v", "0")


@pytest.mark.parametrize(
    ("header", "conf", "cookie", "sent", "rows"),
    [
        ("", "", "", None, [OLD, ALICE]),
        ("k=v", "", "", "KEY;path=/", [OLD, ALICE, ("KEY", "k=v", "0")]),
        ("", "", KEY, None, [OLD, ALICE]),
        ("a=", "", KEY, "KEY;path=/", [ALICE]),
        ("c=d", "", KEY, "KEY;path=/", [("KEY", "a=b&c=d", "0"), ALICE]),
        ("c=d", "", "22" + KEY[2:], "KEY;path=/", [OLD, ALICE, ("KEY", "c=d", "0")]),
        ("c=d", "", "garbage", "KEY;path=/", [OLD, ALICE, ("KEY", "c=d", "0")]),
        ("", "SessionMaxAge 100\n", KEY, f"{KEY};Max-Age=100;path=/", [(KEY, "a=b&expiry=N", "N"), ALICE]),
        ("", "SessionMaxAge 100\n", "old", "KEY;Max-Age=100;path=/", [OLD, ALICE, ("KEY", "expiry=N", "N")]),
    ],
)
def test_under_a_cookie(
    tmp_path: Path, header: str, conf: str, cookie: str, sent: str | None, rows: list[tuple[str, str, str]]
) -> None:
    kept = Kept(tmp_path, COOKIE + conf, header)
    answer = kept.fetch(cookie)
    assert [mask(value) for value in session_fields(answer, "Set-Cookie")] == (
        [f"sid={sent}"] * 2 if sent else []
    )
    assert (kept.rows(), session_fields(answer, "Cache-Control"), kept.site.codes()) == (
        rows,
        ["no-cache, private"],
        [],
    )


@pytest.mark.parametrize(
    ("user", "header", "rows", "count"),
    [
        ("alice:wonder", "", [OLD, ALICE], 1),
        ("alice:wonder", "x=y", [OLD, ("alice", "u=v&x=y", "0")], 2),
        ("alice:wonder", "u=", [OLD, ("alice", "", "0")], 2),
        ("bob:builder", "n=1", [OLD, ALICE, ("bob", "n=1", "0")], 2),
    ],
)
def test_under_a_user(
    tmp_path: Path, user: str, header: str, rows: list[tuple[str, str, str]], count: int
) -> None:
    kept = Kept(tmp_path, USER, header)
    answer = kept.fetch(user=user)
    assert (kept.rows(), session_fields(answer, "Cache-Control"), session_fields(answer, "Set-Cookie")) == (
        rows,
        ["no-cache, private"] * count,
        [],
    )


@pytest.mark.parametrize(
    ("conf", "codes"),
    [
        (COOKIE + "SessionDBDSelectLabel none\n", ["AH01852", "AH01816"]),
        ("SessionDBDPerUser On\n", ["AH01815", "AH01815"]),
        (COOKIE + "SessionDBDInsertLabel none\nSessionDBDUpdateLabel none\n", ["AH01852", "AH01822"]),
    ],
)
def test_what_goes_wrong(tmp_path: Path, conf: str, codes: list[str]) -> None:
    kept = Kept(tmp_path, conf, "n=1")
    kept.fetch(KEY)
    assert kept.site.codes() == codes


def test_a_database_that_is_gone_is_no_session(tmp_path: Path) -> None:
    kept = Kept(tmp_path, COOKIE, "")
    kept.path.unlink()
    assert "a=b" not in kept.fetch(KEY) and kept.site.codes() == ["AH01851", "AH01816"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SessionDBDCookieName", "SessionDBDCookieName requires at least one argument!"),
        ("SessionDBDCookieName2 a;b", "SessionDBDCookieName2 cannot contain '=', ';' or '&'."),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AccessSite(tmp_path, line + "\n", "2.4", LOADED)
