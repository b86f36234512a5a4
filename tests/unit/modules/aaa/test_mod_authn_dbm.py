"""Users in DBM files: statuses and codes recorded, and of the installed httpd."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite
from tests.support.dbm_samples import ALICE, BOB, berkeley, gdbm, write_sdbm
from tests.support.statuses import ALLOWED, CHALLENGED

AREA = (
    "<Location />\nAuthType Basic\nAuthName x\nAuthBasicProvider dbm\nAuthDBMUserFile conf/db\nRequire "
    "valid-user\n{}</Location>\n"
)


def site_of(root: Path, body: str, version: str = "2.4") -> AccessSite:
    (root / "conf").mkdir()
    write_sdbm(root / "conf/db", (b"alice", ALICE + b"\0\0\0"), (b"bob", BOB + b":staff:more\0"))
    return AccessSite(root, AREA.format(body), version, MODULES[version] + " authn_dbm")


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_users_of_an_sdbm_file(tmp_path: Path, version: str) -> None:
    site = site_of(tmp_path, "AuthDBMType SDBM\n", version)
    assert [site.status(user=u) for u in ("alice:wonder", "bob:builder", "alice:builder", "kim:x", "")] == [
        200,
        200,
        401,
        401,
        401,
    ]


def test_users_of_a_berkeley_file(tmp_path: Path) -> None:
    site = site_of(tmp_path, "")
    (tmp_path / "conf/db").write_bytes(berkeley())
    assert [site.status(user=u) for u in ("alice:wonder", "alice:wrong", "bob:builder")] == [
        ALLOWED,
        CHALLENGED,
        CHALLENGED,
    ]


def test_users_of_a_gdbm_file(tmp_path: Path) -> None:
    site = site_of(tmp_path, "AuthDBMType GDBM\n")
    (tmp_path / "conf/db").write_bytes(gdbm())
    assert [site.status(user=u) for u in ("alice:wonder", "bob:builder", "alice:x", "zed:x")] == [
        200,
        200,
        401,
        401,
    ]


@pytest.mark.parametrize("kind", ["GDBM", "DB"])
@pytest.mark.parametrize("cut", [0, 10, 100, 5000, -1, -4000])
def test_files_cut_short_let_nobody_in(tmp_path: Path, kind: str, cut: int) -> None:
    site = site_of(tmp_path, f"AuthDBMType {kind}\n")
    (tmp_path / "conf/db").write_bytes((gdbm() if kind == "GDBM" else berkeley())[:cut])
    # httpd reads a GDBM file if the key's data is inside the file
    assert site.status(user="alice:wonder") == (200 if kind == "GDBM" and cut < 0 else 500)


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("AuthDBMType GDBM\n", None),
        ("AuthDBMType GDBM\n", b"alice:x\n"),
        ("AuthDBMType NDBM\n", None),
        ("AuthDBMType GDBM\n", berkeley()),
        ("AuthDBMType DB\n", gdbm()),
        ("", None),
        ("AuthDBMType DB\n", b""),
        ("AuthDBMType DB\n", b"alice:x\n"),
        ("AuthDBMType Bogus\n", None),
        ("AuthDBMUserFile conf/none\n", None),
    ],
)
def test_files_that_cannot_be_read_let_nobody_in(tmp_path: Path, body: str, content: bytes | None) -> None:
    site = site_of(tmp_path, body)
    if content is not None:
        (tmp_path / "conf/db").write_bytes(content)
    assert site.status(user="alice:wonder") == 500
    assert site.codes() == ["AH10285"]


def test_an_edit_counts_on_the_next_request(tmp_path: Path) -> None:
    site = site_of(tmp_path, "AuthDBMType SDBM\n")
    assert site.status(user="alice:wonder") == 200
    write_sdbm(tmp_path / "conf/db", (b"alice", BOB), (b"more", b"x"))
    assert [site.status(user=u) for u in ("alice:wonder", "alice:builder")] == [CHALLENGED, ALLOWED]
